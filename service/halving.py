"""Halving: one bad part never fails the rest; it is searched for, and only when the content was refused."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from service.outage import RefusedError

Part = TypeVar("Part")
Key = TypeVar("Key")
Known = TypeVar("Known")


def halving(
    parts: Sequence[Part],
    step: Callable[[Sequence[Part]], dict[Key, Known]],
    alone: Callable[[Part, RefusedError], dict[Key, Known]],
) -> dict[Key, Known]:
    """The step on all parts; if it refuses them, on each half in turn, until the bad part stands alone."""
    try:
        return step(parts)
    except RefusedError as refusal:
        if len(parts) == 1:
            return alone(parts[0], refusal)
    middle = len(parts) // 2
    return halving(parts[:middle], step, alone) | halving(parts[middle:], step, alone)
