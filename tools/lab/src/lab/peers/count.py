"""What came of the orders: how many have no event, and how many have more than one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Count(NamedTuple):
    """How many orders were lost and how many doubled, out of how many."""

    lost: int
    doubled: int
    copies: int  # events beyond the first of each order
    orders: int


def count(orders: Sequence[str], events: Mapping[str, int]) -> Count:
    """Count by what should be there: one event of each order."""
    times = [events.get(order, 0) for order in orders]
    return Count(
        lost=sum(found == 0 for found in times),
        doubled=sum(found > 1 for found in times),
        copies=sum(found - 1 for found in times if found > 1),
        orders=len(orders),
    )
