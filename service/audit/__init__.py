"""The audit receiver: an application of its own, with its own database and its own outbox."""
