"""`pipeline check`: which producer is really idempotent, and whether this pipeline can lose anything."""
