"""The dedup matrix: every anomaly on every dedup store, run for real, and what each store costs."""
