"""Rows of text in columns: names to the left, numbers to the right."""

from collections.abc import Sequence


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as a line; a shorter row has nothing in its last columns."""
    count = max(len(row) for row in rows)
    filled = [[*row, *[""] * (count - len(row))] for row in rows]
    columns = zip(*filled, strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]
    return [align(row, widths) for row in filled]


def align(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return one row as a line."""
    cells = [row[0].ljust(widths[0])]
    for cell, width in zip(row[1:], widths[1:], strict=True):
        cells.append(cell.rjust(width))
    return "  ".join(cells).rstrip()
