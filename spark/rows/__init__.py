"""The rows that are compared: of the databases, of the lake, and of what retention has deleted."""
