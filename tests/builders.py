"""Builders that name only what a test is about."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from contract.names import INPUT_TOPIC
from contract.samples import GOOD
from service.post import Answers, Entry
from service.record import Headers, Record

OFFSETS = itertools.count()


def order(order_id: str = "o-1", **changes: Any) -> dict[str, Any]:
    """Return a good order, with these changes."""
    return GOOD | {"order_id": order_id} | changes


def value(order_id: str = "o-1", **changes: Any) -> bytes:
    """Return a good order as bytes, with these changes."""
    return json.dumps(order(order_id, **changes)).encode()


def record(
    message_id: str | bytes | None = "m-1",
    of: bytes | None = b"",
    headers: Headers | None = None,
    topic: str = INPUT_TOPIC,
    partition: int = 0,
) -> Record:
    """Return a record of this message id and value (by default a good order), at a new offset."""
    content = value() if of == b"" else of
    own = message_id.encode() if isinstance(message_id, str) else message_id
    found = [] if own is None else [("message_id", own)]
    return Record(topic, partition, next(OFFSETS), b"o-1", content, [*found, *(headers or [])])


def take_all(entries: Sequence[Entry]) -> Answers:
    """Answer as an audit receiver that takes every entry, and do nothing."""
    return {entry.message.message_id: None for entry in entries}


def settle_all(answers: Answers) -> Answers:
    """Mark nothing, but call all of it settled."""
    return answers


class Clock:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now
