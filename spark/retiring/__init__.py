"""What is old and settled, and how it is deleted."""
