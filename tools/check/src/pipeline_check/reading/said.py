"""What a build file says of a client."""

import re
from typing import NamedTuple

Version = tuple[int, ...]

NUMBER = re.compile(r"\d+(?:\.\d+)*")


class Said(NamedTuple):
    """A version of a client in a text, and the line."""

    client: str
    version: Version
    line: int


def parse(number: str) -> Version:
    """Return a version as numbers."""
    return tuple(map(int, number.strip(".").split(".")))


def line_at(text: str, position: int) -> int:
    """Return the line of a position in a text."""
    return text.count("\n", 0, max(position, 0)) + 1
