"""The query that lands every topic."""
