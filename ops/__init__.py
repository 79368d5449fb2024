"""What people run around the pipeline: the embedded stack, the `pipeline` command, the demo."""
