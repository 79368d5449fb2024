"""Orders to try the pipeline with, and all that may be wrong with them: a pure function of its seed."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

Kind = Literal["order", "redelivery", "invalid", "conflict", "second"]
Order = dict[str, Any]

FIRST_PLACED = datetime(2026, 11, 21, 10, tzinfo=UTC)
SKUS = ("tea", "café", "mug", "kettle", "茶", "biscuits")
WITHIN = 700  # records between a record and what repeats it: sometimes one batch, sometimes another


@dataclass(frozen=True)
class Record:
    """What is sent, and what must become of it."""

    order_id: str
    value: bytes | None
    message_id: str | None
    kind: Kind = "order"
    expected: Literal["fulfilled", "rejected", "dead_letter"] = "fulfilled"
    traceparent: str | None = None

    def headers(self) -> list[tuple[str, bytes]]:
        """Those that have a value."""
        named = {"message_id": self.message_id, "traceparent": self.traceparent}
        return [(name, value.encode()) for name, value in named.items() if value is not None]


def make_records(seed: int, run: str, count: int) -> list[Record]:
    """So many good orders, and among them redeliveries, conflicts, second messages and invalid records.

    What refers to an order comes after it and has its key, so it also arrives after it.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    orders = [make_order(rng, run, number) for number in range(count)]
    placed = list(enumerate(orders))
    for make, share in SHARES.items():
        for number, at in enumerate(
            rng.sample(range(count), min(count, max(1, count * share // 1000)))
        ):
            placed.append((at + rng.randint(1, WITHIN), make(orders[at], number)))
    return [record for _, record in sorted(placed, key=lambda place: place[0])]


def make_order(rng: random.Random, run: str, number: int) -> Record:
    """A good order; some have a field that nobody knows, some a trace."""
    lines = [
        {
            "sku": sku,
            "quantity": rng.randint(1, 12),
            "unit_price": f"{rng.randint(0, 9999) / 100:.2f}",
        }
        for sku in rng.sample(SKUS, rng.randint(1, 4))
    ]
    order: Order = {
        "order_id": f"{run}-o{number}",
        "customer_id": f"c-{rng.randint(1, 500)}",
        "placed_at": f"{FIRST_PLACED + timedelta(seconds=number):%Y-%m-%dT%H:%M:%SZ}",
        "lines": lines,
    }
    if rng.random() < 0.1:
        order["gift"] = True
    trace = f"00-{rng.getrandbits(128) | 1:032x}-{rng.getrandbits(64) | 1:016x}-01"
    return Record(
        order["order_id"],
        to_json(order),
        f"{run}-{number}",
        traceparent=trace if number % 2 else None,
    )


def to_json(order: Order) -> bytes:
    """As it travels: JSON in UTF-8."""
    return json.dumps(order, ensure_ascii=False).encode()


def redelivery(first: Record, _number: int) -> Record:
    """The same message again."""
    return replace(first, kind="redelivery")


def conflict(first: Record, _number: int) -> Record:
    """The same message id with another value."""
    value = to_json(read(first) | {"customer_id": "c-other"})
    return replace(first, value=value, kind="conflict", expected="dead_letter")


def second(first: Record, _number: int) -> Record:
    """Another message for an order that is already fulfilled."""
    return replace(
        first, message_id=f"{first.message_id}-again", kind="second", expected="rejected"
    )


def invalid(first: Record, number: int) -> Record:
    """A record that is no order, of one kind after the other, on the key of a good one."""
    message_id = f"{first.message_id}-bad"
    record = replace(first, message_id=message_id, kind="invalid", expected="dead_letter")
    spoil = list(SPOILED.values())[number % len(SPOILED)]
    return spoil(record)


def read(record: Record) -> Order:
    """The order in a good record."""
    order: Order = json.loads(record.value or b"")
    return order


def field(**fields: object) -> Callable[[Record], Record]:
    """Other values for some fields of the order."""
    return lambda record: replace(record, value=to_json(read(record) | fields))


def line(**fields: object) -> Callable[[Record], Record]:
    """Other values for some fields of its only line."""
    return field(lines=[{"sku": "tea", "quantity": 1, "unit_price": "12.10"} | fields])


def raw(change: Callable[[bytes], bytes | None]) -> Callable[[Record], Record]:
    """Other bytes."""
    return lambda record: replace(record, value=change(record.value or b""))


SPOILED: dict[str, Callable[[Record], Record]] = {
    "truncated JSON": raw(lambda value: value[:-9]),
    "no message id": lambda record: replace(record, message_id=None),
    "a tombstone": raw(lambda _value: None),
    "a quantity beyond the limit": line(quantity=10_001),
    "invalid UTF-8": raw(lambda value: value.replace(b"c-", b"c\xff", 1)),
    "a quantity in words": line(quantity="two"),
    "a price with three places": line(unit_price="1.005"),
    "an oversized message id": lambda record: replace(
        record, message_id=f"{record.message_id:x<65}"
    ),
    "the same key twice": raw(lambda value: b'{"customer_id": "c-0", ' + value[1:]),
    "not a number": raw(lambda value: value.replace(b'"quantity": ', b'"quantity": NaN, "q": ', 1)),
    "no lines": field(lines=[]),
    "an empty value": raw(lambda _value: b""),
    "no object": raw(lambda value: b"[" + value + b"]"),
    "a negative price": line(unit_price="-1.00"),
    "an impossible date": field(placed_at="2026-02-30T10:00:00Z"),
    "a NUL in an id": field(customer_id="c-\x00"),
    "too large": raw(lambda value: value[:-1] + b', "note": "' + b"x" * 65_536 + b'"}'),
    "an order id of no length": field(order_id=""),
}


# In every thousand orders, and at least one of each.
SHARES = {redelivery: 20, conflict: 2, second: 5, invalid: 10}


def count_kinds(records: list[Record]) -> dict[str, int]:
    """How many there are of each kind."""
    return dict(Counter(record.kind for record in records))
