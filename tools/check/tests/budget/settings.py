"""The settings of a service, as its intent in pyproject.toml reads them."""

max_poll_interval_ms = 300_000
timeout_seconds: float = 5.0
database_timeout_seconds: float = 5.0
receiver_timeout_seconds: float = 4.0
GRACE_SECONDS = 20
