"""Reads .sql files of several statements, each with its name and a description above it."""

from pathlib import Path

HEADING = "-- name: "


def read_statements(file: Path) -> dict[str, str]:
    """Return the statements of a file by their names; what precedes the first name is a comment."""
    text = file.read_text()
    _, *blocks = text.split(HEADING)
    statements = {}
    for block in blocks:
        name, _, sql = block.partition("\n")
        statements[name.strip()] = sql.strip()
    return statements
