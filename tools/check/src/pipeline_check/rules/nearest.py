"""Which of several brokers or workers belongs to a file; none where that cannot be decided."""

import os
from collections.abc import Sequence
from functools import cache

from pipeline_check.reading.block import Block, Kind


def nearest(blocks: Sequence[Block], kind: Kind, file: str) -> Block | None:
    """Return the block of a kind that belongs to a file, or nothing where several may.

    The only one always belongs to it. Of several it is one in the file's own folder, or the one
    that shares a folder with the file which not all of them share.
    """
    found = [block for block in blocks if block.kind == kind]
    if len(found) < 2:
        return found[0] if found else None
    best = max(found, key=lambda block: shared_folders(block.file, file))
    shared_with_best = shared_folders(best.file, file)
    shared_by_all = min(shared_folders(found[0].file, block.file) for block in found)
    in_same_folder = shared_with_best == len(folders(file))
    if in_same_folder or shared_with_best > shared_by_all:
        return best
    return None


def shared_folders(one: str, other: str) -> int:
    """Count the folders that two files have in common, from the top."""
    count = 0
    for mine, theirs in zip(folders(one), folders(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


@cache
def folders(file: str) -> list[str]:
    """Return the folders that a file is in, from the top; cached, for files are asked for often."""
    return file.split(os.sep)[:-1]  # noqa: PTH206 - paths cost ten times as much
