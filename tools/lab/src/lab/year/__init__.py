"""A simulated year: orders, reconciliation and retention each day; nothing may grow."""
