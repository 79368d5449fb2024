"""A dedup store: the highest sequence number of each partition."""
