"""Rows of text in columns: names to the left, numbers to the right."""

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Each row as a line; a row that is shorter has nothing in its last columns."""
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] for row in rows]
    widths = [max(map(len, column)) for column in zip(*filled, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in filled
    ]
