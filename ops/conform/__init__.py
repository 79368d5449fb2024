"""Asks a receiver of idempotent POSTs what it makes of repeated, changed and lost requests."""
