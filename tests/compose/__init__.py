"""compose.yaml as a user starts it; run by `make test-compose`."""
