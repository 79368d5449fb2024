"""Payments to try the pipeline with, good and bad, and what must become of each.

The demo sends them and the tests are built from them, so a changed contract changes both here.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from contract.events import ACCEPTED, DEAD_LETTER, REJECTED
from contract.payment import BOOKED_CURRENCIES

Kind = Literal["payment", "redelivery", "second", "unbooked", "conflict", "invalid"]

FIRST_PLACED = datetime(2026, 11, 21, 10, tzinfo=UTC)

GOOD: dict[str, Any] = {
    "payment_id": "o-1",
    "customer_id": "c-7",
    "placed_at": "2026-11-21T10:00:00Z",
    "amount": "47.7",
    "currency": "EUR",
}
GOOD_TOTAL = "47.70"
CHANGED = {"customer_id": "c-other"}  # makes another payment of a good one, and still a good one


class Sample(NamedTuple):
    """A record to send, and what must become of it."""

    payment_id: str  # the record's key
    message_id: str | None
    value: bytes | None
    kind: Kind = "payment"
    expected: str = ACCEPTED  # the outcome
    reason: str = ""  # of a rejection; or how the reason of a dead letter begins
    traceparent: str | None = None

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the headers that have a value."""
        named = {"message_id": self.message_id, "traceparent": self.traceparent}
        return [(name, value.encode()) for name, value in named.items() if value is not None]


Change = Callable[[Sample], Sample]


def to_json(payment: dict[str, Any]) -> bytes:
    """Return the payment as it travels: JSON in UTF-8."""
    return json.dumps(payment, ensure_ascii=False).encode()


def make_payment(rng: random.Random, run: str, number: int) -> Sample:
    """Make a good payment; some have a field that is not in the contract, some a trace."""
    payment: dict[str, Any] = {
        "payment_id": f"{run}-p{number}",
        "customer_id": f"c-{rng.randint(1, 500)}",
        "placed_at": f"{FIRST_PLACED + timedelta(seconds=number):%Y-%m-%dT%H:%M:%SZ}",
        "amount": f"{rng.randint(1, 999_999) / 100:.2f}",
        "currency": rng.choice(sorted(BOOKED_CURRENCIES)),
    }
    if rng.random() < 0.1:
        payment["note"] = "für Tee, 茶"
    trace = f"00-{rng.getrandbits(128) | 1:032x}-{rng.getrandbits(64) | 1:016x}-01"
    return Sample(
        payment["payment_id"],
        f"{run}-{number}",
        to_json(payment),
        traceparent=trace if number % 2 else None,
    )


def booking(payment: dict[str, Any], message_id: str, booking_id: str) -> dict[str, Any]:
    """Return the body of the event that tells of the good payment above."""
    kept = {name: payment[name] for name in ("payment_id", "customer_id", "placed_at", "currency")}
    return kept | {"message_id": message_id, "booking_id": booking_id, "total": GOOD_TOTAL}


# What else comes of a good sample that has been sent before it.


def redelivery(first: Sample) -> Sample:
    """Return the same message again."""
    return first._replace(kind="redelivery")


def conflict(first: Sample) -> Sample:
    """Return the same message id with another value."""
    return change_fields(**CHANGED)(first)._replace(
        kind="conflict", expected=DEAD_LETTER, reason="message_id: "
    )


def second(first: Sample) -> Sample:
    """Return another message for a payment that is already booked."""
    return first._replace(
        message_id=f"{first.message_id}-again",
        kind="second",
        expected=REJECTED,
        reason="already_booked",
    )


def unbooked(first: Sample) -> Sample:
    """Return a message for a payment in a currency that is not booked."""
    return change_fields(currency="JPY")(first)._replace(
        message_id=f"{first.message_id}-yen",
        kind="unbooked",
        expected=REJECTED,
        reason="currency_not_booked",
    )


def invalid(first: Sample, name: str) -> Sample:
    """Return a record with a good one's key that is no payment, in this way."""
    reason, change = INVALID[name]
    broken = change(first._replace(message_id=f"{first.message_id}-bad"))
    return broken._replace(kind="invalid", expected=DEAD_LETTER, reason=reason)


def change_fields(**fields: object) -> Change:
    """Give some fields of the payment other values."""
    return lambda sample: sample._replace(value=to_json(read(sample) | fields))


def change_bytes(change: Callable[[bytes], bytes | None]) -> Change:
    """Give the record other bytes."""
    return lambda sample: sample._replace(value=change(sample.value or b""))


def read(sample: Sample) -> dict[str, Any]:
    """Return the payment in a good sample."""
    payment: dict[str, Any] = json.loads(sample.value or b"")
    return payment


# Why a message is rejected, and how one comes about: from a good sample that was sent before it.
REJECTIONS: dict[str, Change] = {"already_booked": second, "currency_not_booked": unbooked}

# What may be wrong with a record: how the reason begins, and how it is made from a good sample.
INVALID: dict[str, tuple[str, Change]] = {
    "truncated JSON": ("value: ", change_bytes(lambda value: value[:-9])),
    "no message id": ("headers.message_id: ", lambda sample: sample._replace(message_id=None)),
    "a tombstone": ("value: ", change_bytes(lambda _: None)),
    "a negative amount": ("amount: ", change_fields(amount="-1.00")),
    "an amount with three places": ("amount: ", change_fields(amount="1.005")),
    "an amount as a number": ("amount: ", change_fields(amount=12.1)),
    "no currency": ("currency: ", change_fields(currency=None)),
    "a currency in small letters": ("currency: ", change_fields(currency="eur")),
    "invalid UTF-8": ("value: ", change_bytes(lambda value: value.replace(b"c-", b"c\xff", 1))),
    "the same key twice": (
        "value: ",
        change_bytes(lambda value: b'{"customer_id": "c-0", ' + value[1:]),
    ),
    "an impossible date": ("placed_at: ", change_fields(placed_at="2026-02-30T10:00:00Z")),
    "a NUL in an id": ("customer_id: ", change_fields(customer_id="c-\x00")),
    "too large": (
        "value: ",
        change_bytes(lambda value: value[:-1] + b', "note": "' + b"x" * 65_536 + b'"}'),
    ),
}


def every_sample(run: str) -> list[Sample]:
    """Return one sample of each kind, each after the good one that it refers to."""
    rng = random.Random(1)  # noqa: S311 - repeatable, not secret
    changes = [
        redelivery,
        conflict,
        *REJECTIONS.values(),
        *(lambda first, name=name: invalid(first, name) for name in INVALID),
    ]
    found = []
    for number, change in enumerate(changes):
        first = make_payment(rng, run, number)
        found += [first, change(first)]
    return found
