"""Tests: unit (no process), integration, spark and e2e (the embedded stack)."""
