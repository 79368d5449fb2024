"""The numbers of the tests: 4,858 are sent, 3,500 of them are new, and 1,358 were there before."""

from collections.abc import Iterator

NAMES = ("anna", "ben", "cleo", "dora", "emil", "fritz", "gina")
RANGES = (
    (1, 333),
    (70, 578),
    (400, 1211),
    (1000, 1111),
    (1200, 1711),
    (1688, 3333),
    (2567, 3500),
)


def numbers() -> Iterator[tuple[str, int]]:
    """Yield key and number, in the sequence in which they are sent.

    A number has the same key each time, and so it comes to the same partition.
    """
    for first, last in RANGES:
        for number in range(first, last + 1):
            yield NAMES[number % len(NAMES)], number
