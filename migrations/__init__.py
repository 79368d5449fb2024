"""Alembic, with SQL in the open, for both databases; and beside it what cannot stand in a transaction."""
