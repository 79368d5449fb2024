"""What topics hold: positions, and which topics there are."""
