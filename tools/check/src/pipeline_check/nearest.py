"""Which of several brokers or workers belongs to a file; where that cannot be told, none does."""

import os
from collections.abc import Sequence
from functools import cache
from itertools import takewhile

from pipeline_check.reading.block import Block, Kind


def nearest(blocks: Sequence[Block], kind: Kind, file: str) -> Block | None:
    """The only one there is; of several the one that shares a folder with the file which not all of them share."""
    found = [block for block in blocks if block.kind == kind]
    if len(found) < 2:
        return found[0] if found else None
    best = max(found, key=lambda block: shared(block.file, file))
    in_all = min(shared(found[0].file, block.file) for block in found)
    beside = shared(best.file, file) == len(folders(file))
    return best if beside or shared(best.file, file) > in_all else None


def shared(one: str, other: str) -> int:
    """How many folders two files have in common, from the top."""
    pairs = zip(folders(one), folders(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@cache
def folders(file: str) -> list[str]:
    """The folders that a file is in, from the top; the same files are asked for again and again."""
    return file.split(os.sep)[:-1]  # noqa: PTH206 - paths cost ten times as much
