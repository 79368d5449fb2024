"""Builders that name only what a test is about."""

import itertools
import json
from typing import Any

from service.record import Headers, Record

OFFSETS = itertools.count()
LINES = [
    {"sku": "tea", "quantity": 2, "unit_price": "12.10"},
    {"sku": "cup", "quantity": 1, "unit_price": "3.5"},
    {"sku": "pot", "quantity": 1, "unit_price": "20"},
]


def order(order_id: str = "o-1", **changes: Any) -> dict[str, Any]:
    """A good order, with these changes."""
    good = {
        "order_id": order_id,
        "customer_id": "c-7",
        "placed_at": "2026-11-21T10:00:00Z",
        "lines": LINES,
    }
    return good | changes


def value(order_id: str = "o-1", **changes: Any) -> bytes:
    """A good order as bytes, with these changes."""
    return json.dumps(order(order_id, **changes)).encode()


def record(
    message_id: str | bytes | None = "m-1",
    of: bytes | None = b"",
    headers: Headers | None = None,
    topic: str = "order.events",
    partition: int = 0,
) -> Record:
    """A record of this message id and value (a good order, if none is given), at an offset of its own."""
    content = value() if of == b"" else of
    own = message_id.encode() if isinstance(message_id, str) else message_id
    found = [] if own is None else [("message_id", own)]
    return Record(topic, partition, next(OFFSETS), b"o-1", content, [*found, *(headers or [])])
