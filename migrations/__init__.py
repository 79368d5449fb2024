"""Alembic for both databases, with SQL in the open, and what cannot be in a transaction."""
