"""The pipeline with SECURE=true: the same path and outages, what is denied, secrets that rotate."""
