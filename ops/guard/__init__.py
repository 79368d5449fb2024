"""A process that looks after the pipeline: it mends what can be mended, and says what cannot."""
