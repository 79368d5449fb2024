"""What must come of what was sent, worked out from the contract alone.

Nothing of the service or of the reconciliation is used here: ids, totals and bodies are made again
by other means, so that a defect there is not repeated here.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid5

from contract.events import ACCEPTED, DEAD_LETTER
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC, NAMESPACE, SUBSCRIBER
from contract.samples import Sample
from lab.faults.facts import Place, Sent

LINE_FIELDS = ("sku", "quantity", "unit_price")
KEPT = 64 * 1024  # of a dead letter's value
REASON = "reason"


class Order(NamedTuple):
    """A message that must be handled, and what it says."""

    place: Place
    message_id: str
    sha256: str
    order_id: str
    outcome: str
    fulfilled_by: str
    body: dict[str, Any]
    total: Decimal

    @property
    def is_accepted(self) -> bool:
        """Return whether a fulfillment must come of it."""
        return self.outcome == ACCEPTED


class ExpectedEvent(NamedTuple):
    """An event that must be published; of a dead letter's reason only the beginning is known."""

    event_id: str
    topic: str
    key: str
    body: dict[str, Any]

    def matches(self, payload: str) -> bool:
        """Return whether these bytes say the same."""
        found = json.loads(payload)
        if self.topic != DEAD_LETTER_TOPIC:
            return bool(found == self.body)
        reason = found.pop(REASON)
        return {**found, REASON: self.body[REASON]} == self.body and reason.startswith(
            self.body[REASON]
        )


class Expected(NamedTuple):
    """Messages by id, and records that are no message by place."""

    orders: dict[str, Order]
    letters: dict[Place, Sample]


def expect(sent: Sequence[Sent]) -> Expected:
    """Return what must come of these; what is repeated comes of the first."""
    orders: dict[str, Order] = {}
    letters: dict[Place, Sample] = {}
    winners: dict[str, str] = {}
    for place, sample in sorted(sent, key=lambda one: one.place):
        message_id = sample.message_id or ""
        if sample.expected == DEAD_LETTER:
            letters[place] = sample
        elif message_id not in orders:
            winner = winners.setdefault(sample.order_id, message_id)
            orders[message_id] = understand(place, sample, winner)
    return Expected(orders, letters)


def understand(place: Place, sample: Sample, winner: str) -> Order:
    """Return what a good sample says."""
    value = sample.value or b""
    body = json.loads(value)
    cost = [line["quantity"] * Decimal(line["unit_price"]) for line in body["lines"]]
    return Order(
        place=place,
        message_id=sample.message_id or "",
        sha256=sha256(value).hexdigest(),
        order_id=body["order_id"],
        outcome=sample.expected,
        fulfilled_by=winner,
        body=body,
        total=sum(cost, Decimal("0.00")),
    )


def derive(kind: str, source: str) -> str:
    """Return the id of this kind and source."""
    return str(uuid5(NAMESPACE, f"{kind}/{source}"))


def lines_of(order: Order) -> list[dict[str, Any]]:
    """Return the lines without unknown fields."""
    return [{name: line[name] for name in LINE_FIELDS} for line in order.body["lines"]]


def expect_events(expected: Expected) -> list[ExpectedEvent]:
    """Return the events of the service: one of each message, one of each dead letter."""
    of_orders = [event_of(order) for order in expected.orders.values()]
    of_letters = [event_of_letter(*letter) for letter in expected.letters.items()]
    return of_orders + of_letters


def event_of(order: Order) -> ExpectedEvent:
    """Return the event that tells what became of a message."""
    if order.is_accepted:
        topic = "fulfillment.events"
        body = {
            "message_id": order.message_id,
            "order_id": order.order_id,
            "fulfillment_id": derive("fulfillment", order.message_id),
            "customer_id": order.body["customer_id"],
            "placed_at": order.body["placed_at"],
            "lines": lines_of(order),
            "total": f"{order.total:.2f}",
        }
    else:
        topic = "rejection.events"
        body = {
            "message_id": order.message_id,
            "order_id": order.order_id,
            "reason": "already_fulfilled",
            "fulfilled_by": order.fulfilled_by,
        }
    return ExpectedEvent(derive("event", order.message_id), topic, order.order_id, body)


def event_of_letter(place: Place, sample: Sample) -> ExpectedEvent:
    """Return the event that carries the bytes of a record that is no message."""
    value = sample.value
    headers = [{"name": name, "value": as_text(content)} for name, content in sample.headers()]
    body = {
        **place._asdict(),
        "subscriber": SUBSCRIBER,
        "kind": kind_of(sample),
        "reason": sample.reason,
        "key": as_text(sample.order_id.encode()),
        "value": None if value is None else as_text(value[:KEPT]),
        "headers": headers,
        "value_length": None if value is None else len(value),
        "value_sha256": None if value is None else sha256(value).hexdigest(),
    }
    return ExpectedEvent(derive("dead-letter", str(place)), DEAD_LETTER_TOPIC, str(place), body)


def kind_of(sample: Sample) -> str:
    """Return the kind of a dead letter."""
    if sample.kind == "conflict":
        return "conflict"
    is_too_large = len(sample.value or b"") > KEPT
    return "too_large" if is_too_large else "invalid"


def as_text(content: bytes) -> str:
    """Return bytes as base64."""
    return b64encode(content).decode()


def expect_audit_events(expected: Expected) -> list[ExpectedEvent]:
    """Return the event of each audit entry, whose id is the entry's own."""
    return [audit_event_of(order) for order in expected.orders.values()]


def audit_event_of(order: Order) -> ExpectedEvent:
    """Return the event of the audit entry of a message."""
    key = derive("audit", order.message_id)
    entry_id = derive("audit-entry", key)
    body = {
        "audit_entry_id": entry_id,
        "idempotency_key": key,
        "message_id": order.message_id,
        "order_id": order.order_id,
        "outcome": order.outcome,
        "body_sha256": hash_of(audit_body(order)),
    }
    return ExpectedEvent(entry_id, AUDIT_TOPIC, order.order_id, body)


def audit_body(order: Order) -> dict[str, Any]:
    """Return what the audit receiver is told of a message."""
    return {
        "message_id": order.message_id,
        "order_id": order.order_id,
        "outcome": order.outcome,
        "fulfillment_id": derive("fulfillment", order.message_id) if order.is_accepted else None,
        "total": f"{order.total:.2f}" if order.is_accepted else None,
    }


def hash_of(body: dict[str, Any]) -> str:
    """Return the hash of a body in its one canonical form."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode()).hexdigest()
