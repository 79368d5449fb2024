"""Ranges of a large table: each is read by a connection of its own, and so by any worker."""

from collections.abc import Sequence
from itertools import pairwise


def divide(table: str, pages: int, *, least: int, most: int) -> Sequence[str]:
    """Return SQL for at most so many ranges of a table's pages, of at least so many each.

    The last has no end: the table grows. PostgreSQL reads a range without an index, and no page
    beside it.
    """
    count = min(pages // least, most)
    if count <= 1:
        return ["true"]
    borders = [pages * number // count for number in range(1, count)]
    conditions = [f"{table}.ctid < '({borders[0]},0)'::tid"]
    for first, stop in pairwise(borders):
        conditions.append(
            f"{table}.ctid >= '({first},0)'::tid and {table}.ctid < '({stop},0)'::tid"
        )
    conditions.append(f"{table}.ctid >= '({borders[-1]},0)'::tid")
    return conditions
