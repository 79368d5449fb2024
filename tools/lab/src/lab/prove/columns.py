"""Rows of text in columns: names to the left, numbers to the right."""

from collections.abc import Sequence
from itertools import zip_longest


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as a line; a shorter row has nothing in its last columns."""
    columns = list(zip_longest(*rows, fillvalue=""))
    widths = [max(len(cell) for cell in column) for column in columns]
    return [align(row, widths) for row in rows]


def align(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return one row as a line."""
    first, *others = row
    cells = [first.ljust(widths[0])]
    for cell, width in zip(others, widths[1:], strict=False):
        cells.append(cell.rjust(width))
    return "  ".join(cells).rstrip()
