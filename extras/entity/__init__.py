"""A dedup store: the ids of handled messages in the row of their order."""
