"""A dedup store: the highest version of each order."""
