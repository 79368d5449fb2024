"""The audit against the clients themselves, a corpus of configurations, and whatever else a file may hold."""
