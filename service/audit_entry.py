"""What the audit receiver is told of a message, and under which key."""

from typing import NamedTuple, TypedDict

from service.ids import derive
from service.message import Message
from service.order import total
from service.store import Handled


class Body(TypedDict):
    """The POST body: a pure function of the message and its outcome, so that a retry sends the same."""

    message_id: str
    order_id: str
    outcome: str
    fulfillment_id: str | None
    total: str | None


class Entry(NamedTuple):
    """One body under one idempotency key."""

    idempotency_key: str
    body: Body


def audit_entry(message: Message, handled: Handled) -> Entry:
    """The entry of a message that was handled, now or long ago."""
    fulfilled = handled.outcome == "fulfilled"
    return Entry(
        derive("audit", message.message_id),
        {
            "message_id": message.message_id,
            "order_id": message.order["order_id"],
            "outcome": handled.outcome,
            "fulfillment_id": derive("fulfillment", message.message_id) if fulfilled else None,
            "total": total(message.order) if fulfilled else None,
        },
    )
