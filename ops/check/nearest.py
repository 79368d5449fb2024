"""Which of several brokers or workers belongs to a file: the one that shares most folders with it."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePath

from ops.check.reading.block import Block, Kind


def nearest(blocks: Sequence[Block], kind: Kind, file: str) -> Block | None:
    """The nearest block of a kind; nothing if there is none."""
    found = [block for block in blocks if block.kind == kind]
    return max(found, key=lambda block: shared(block.file, file), default=None)


def shared(one: str, other: str) -> int:
    """How many folders two files have in common, from the top."""
    pairs = zip(PurePath(one).parts, PurePath(other).parts, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
