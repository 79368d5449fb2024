"""`pipeline bench`: how fast and how lean the pipeline is, beside what others do in its place."""
