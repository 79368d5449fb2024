"""The audit against the clients themselves, a corpus of configurations, and broken files."""
