"""Lands every topic in Delta tables, and reconciles them with the databases, id by id."""
