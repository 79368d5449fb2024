"""`pipeline prove`: lose acknowledgements on their way to a producer, then count its topic."""
