"""Orders to try the pipeline with, good and bad, and what must become of each.

The demo sends them and the tests are built from them, so a changed contract changes both here.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple

from contract.events import ACCEPTED, DEAD_LETTER, REJECTED
from contract.trace import make_trace

Kind = Literal["order", "redelivery", "second", "conflict", "invalid"]

FIRST_PLACED = datetime(2026, 11, 21, 10, tzinfo=UTC)
SKUS = ("tea", "café", "mug", "kettle", "茶", "biscuits")

GOOD: dict[str, Any] = {
    "order_id": "o-1",
    "customer_id": "c-7",
    "placed_at": "2026-11-21T10:00:00Z",
    "lines": [
        {"sku": "tea", "quantity": 2, "unit_price": "12.10"},
        {"sku": "cup", "quantity": 1, "unit_price": "3.5"},
        {"sku": "pot", "quantity": 1, "unit_price": "20"},
    ],
}
GOOD_TOTAL = "47.70"
CHANGED = {"customer_id": "c-other"}  # makes another order of a good one, and still a good one


class Sample(NamedTuple):
    """A record to send, and what must become of it."""

    order_id: str  # the record's key
    message_id: str | None
    value: bytes | None
    kind: Kind = "order"
    expected: str = ACCEPTED  # the outcome
    reason: str = ""  # of a rejection; or how the reason of a dead letter begins
    traceparent: str | None = None

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the headers that have a value."""
        named = {
            "message_id": self.message_id,
            "traceparent": self.traceparent,
        }
        found = []
        for name, value in named.items():
            if value is not None:
                found.append((name, value.encode()))
        return found


Change = Callable[[Sample], Sample]


def to_json(order: dict[str, Any]) -> bytes:
    """Return the order as it travels: JSON in UTF-8."""
    return json.dumps(order, ensure_ascii=False).encode()


def make_order(rng: random.Random, run: str, number: int) -> Sample:
    """Make a good order; some have a field that is not in the contract, some a trace."""
    customer = rng.randint(1, 500)
    placed_at = FIRST_PLACED + timedelta(seconds=number)
    skus = rng.sample(SKUS, rng.randint(1, 4))
    order: dict[str, Any] = {
        "order_id": f"{run}-o{number}",
        "customer_id": f"c-{customer}",
        "placed_at": placed_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lines": [make_line(rng, sku) for sku in skus],
    }
    has_unknown_field = rng.random() < 0.1
    if has_unknown_field:
        order["gift"] = True
    trace = make_trace(rng)
    has_trace = number % 2 == 1
    return Sample(
        order["order_id"],
        f"{run}-{number}",
        to_json(order),
        traceparent=trace if has_trace else None,
    )


def make_line(rng: random.Random, sku: str) -> dict[str, Any]:
    """Make a line of an order."""
    price = rng.randint(0, 9999) / 100
    return {
        "sku": sku,
        "quantity": rng.randint(1, 12),
        "unit_price": f"{price:.2f}",
    }


def fulfillment(order: dict[str, Any], message_id: str, fulfillment_id: str) -> dict[str, Any]:
    """Return the body of the event that tells of the good order above."""
    return {
        **order,
        "message_id": message_id,
        "fulfillment_id": fulfillment_id,
        "total": GOOD_TOTAL,
    }


# What else comes of a good sample that has been sent before it.


def redelivery(first: Sample) -> Sample:
    """Return the same message again."""
    return first._replace(kind="redelivery")


def conflict(first: Sample) -> Sample:
    """Return the same message id with another value."""
    change = change_fields(**CHANGED)
    return change(first)._replace(
        kind="conflict",
        expected=DEAD_LETTER,
        reason="message_id: ",
    )


def second(first: Sample) -> Sample:
    """Return another message for an order that is already fulfilled."""
    return first._replace(
        message_id=f"{first.message_id}-again",
        kind="second",
        expected=REJECTED,
        reason="already_fulfilled",
    )


def invalid(first: Sample, name: str) -> Sample:
    """Return a record with a good one's key that is no order, in this way."""
    reason, change = INVALID[name]
    another = first._replace(message_id=f"{first.message_id}-bad")
    return change(another)._replace(
        kind="invalid",
        expected=DEAD_LETTER,
        reason=reason,
    )


def change_fields(**fields: object) -> Change:
    """Give some fields of the order other values."""

    def change(sample: Sample) -> Sample:
        order = read(sample) | fields
        return sample._replace(value=to_json(order))

    return change


def change_line(**fields: object) -> Change:
    """Leave the order one line, and give some of its fields other values."""
    line = GOOD["lines"][0] | fields
    return change_fields(lines=[line])


def change_bytes(change: Callable[[bytes], bytes | None]) -> Change:
    """Give the record other bytes."""

    def change_sample(sample: Sample) -> Sample:
        value = change(sample.value or b"")
        return sample._replace(value=value)

    return change_sample


def read(sample: Sample) -> dict[str, Any]:
    """Return the order in a good sample."""
    order: dict[str, Any] = json.loads(sample.value or b"")
    return order


# Why a message is rejected, and how one comes about: from a good sample that was sent before it.
REJECTIONS: dict[str, Change] = {"already_fulfilled": second}

# What may be wrong with a record: how the reason begins, and how it is made from a good sample.
INVALID: dict[str, tuple[str, Change]] = {
    "truncated JSON": ("value: ", change_bytes(lambda value: value[:-9])),
    "no message id": ("headers.message_id: ", lambda sample: sample._replace(message_id=None)),
    "a tombstone": ("value: ", change_bytes(lambda _: None)),
    "a quantity beyond the limit": ("lines[0].quantity: ", change_line(quantity=10_001)),
    "invalid UTF-8": ("value: ", change_bytes(lambda value: value.replace(b"c-", b"c\xff", 1))),
    "a quantity in words": ("lines[0].quantity: ", change_line(quantity="two")),
    "a price with three places": ("lines[0].unit_price: ", change_line(unit_price="1.005")),
    "an oversized message id": (
        "headers.message_id: ",
        lambda sample: sample._replace(message_id=f"{sample.message_id:x<65}"),
    ),
    "the same key twice": (
        "value: ",
        change_bytes(lambda value: b'{"customer_id": "c-0", ' + value[1:]),
    ),
    "not a number": ("value: ", change_bytes(lambda value: value[:-1] + b', "x": NaN}')),
    "no lines": ("lines: ", change_fields(lines=[])),
    "an empty value": ("value: ", change_bytes(lambda _: b"")),
    "no object": ("value: ", change_bytes(lambda value: b"[" + value + b"]")),
    "a negative price": ("lines[0].unit_price: ", change_line(unit_price="-1.00")),
    "an impossible date": ("placed_at: ", change_fields(placed_at="2026-02-30T10:00:00Z")),
    "a NUL in an id": ("customer_id: ", change_fields(customer_id="c-\x00")),
    "too large": (
        "value: ",
        change_bytes(lambda value: value[:-1] + b', "note": "' + b"x" * 65_536 + b'"}'),
    ),
    "an order id of no length": ("order_id: ", change_fields(order_id="")),
}


def every_sample(run: str) -> list[Sample]:
    """Return one sample of each kind, each after the good one that it refers to."""
    rng = random.Random(1)  # noqa: S311 - repeatable, not secret
    changes: list[Change] = [redelivery, conflict, *REJECTIONS.values()]
    changes += [partial(invalid, name=name) for name in INVALID]
    found = []
    for number, change in enumerate(changes):
        first = make_order(rng, run, number)
        found.append(first)
        found.append(change(first))
    return found
