"""Tests of single parts against the real database, broker or server."""
