"""Landing and reconciliation: transforms on small frames, the landing job against a real broker."""
