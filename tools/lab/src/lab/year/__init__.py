"""A simulated year: orders, reconciliation, retention and compaction each day; nothing may grow."""
