"""Which of several brokers or workers belongs to a file: the one that shares most folders with it."""

import os
from collections.abc import Sequence
from itertools import takewhile

from ops.check.reading.block import Block, Kind


def nearest(blocks: Sequence[Block], kind: Kind, file: str) -> Block | None:
    """The nearest block of a kind; nothing if there is none."""
    found = [block for block in blocks if block.kind == kind]
    return max(found, key=lambda block: shared(block.file, file), default=None)


def shared(one: str, other: str) -> int:
    """How many folders two files have in common, from the top."""
    pairs = zip(one.split(os.sep), other.split(os.sep), strict=False)  # noqa: PTH206 - paths cost ten times as much
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
