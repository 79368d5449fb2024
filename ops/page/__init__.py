"""One page that shows how everything is now, and lets people replay and skip dead letters."""
