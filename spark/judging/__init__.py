"""What became of each id: all of them, or those that came since the last run."""
