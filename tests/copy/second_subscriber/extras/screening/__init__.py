"""A second subscriber: it screens each payment once, and tells of it."""
