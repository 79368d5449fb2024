"""Ranges of a large table."""

import re
from itertools import pairwise

import pytest

from spark.rows.ranges import divide


@pytest.mark.parametrize("pages", [0, 1, 9, 15])
def test_a_small_table_is_one_range(pages: int) -> None:
    """A connection more costs more than it gains."""
    assert divide("outbox", pages, least=8, most=64) == ["true"]


@pytest.mark.parametrize("pages", [16, 100, 8_001, 10_000_000])
def test_every_page_is_in_one_range(pages: int) -> None:
    """The first begins at the first page, each next one where the one before ends.

    The last has no end: the table may have grown since it was asked for its size.
    """
    ranges = divide("outbox", pages, least=8, most=64)
    limits = [re.findall(r"(>=|<) '\((\d+),0\)'::tid", one) for one in ranges]
    first, *middle, last = limits
    assert [sign for sign, _ in first] == ["<"]
    assert all([sign for sign, _ in one] == [">=", "<"] for one in middle)
    assert [sign for sign, _ in last] == [">="]
    assert all(before[-1][1] == after[0][1] for before, after in pairwise(limits))
    assert 2 <= len(ranges) <= 64


@pytest.mark.parametrize("pages", [16, 8_001])
def test_ranges_are_about_as_large_as_each_other(pages: int) -> None:
    """No task of a cluster has much more to read than the others."""
    ranges = divide("outbox", pages, least=8, most=64)
    borders = [0, *(int(re.findall(r"< '\((\d+)", one)[0]) for one in ranges[:-1]), pages]
    sizes = [stop - first for first, stop in pairwise(borders)]
    assert max(sizes) - min(sizes) <= 1
