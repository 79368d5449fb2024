"""The business rule, in Python: what rule.sql is given of a message, and what the audit is sent."""

from typing import Any

from contract.audit import AuditBody
from contract.events import ACCEPTED
from contract.payment import BOOKED_CURRENCIES
from service.ids import derive
from service.record import Message

# The columns that rule.sql finds in `item`, beside those of write.sql.
COLUMNS = """
    payment_id text, booking_id uuid, customer_id text, placed_at text, total text, currency text,
    is_bookable bool
"""


def facts(message: Message, subscriber: str) -> dict[str, Any]:
    """Return the values of these columns for a message."""
    payment = message.payment
    return {
        "payment_id": payment["payment_id"],
        "booking_id": derive("booking", message.message_id, subscriber),
        "customer_id": payment["customer_id"],
        "placed_at": payment["placed_at"],
        "total": message.total,
        "currency": payment["currency"],
        "is_bookable": payment["currency"] in BOOKED_CURRENCIES,
    }


def audit_body(message: Message, outcome: str, subscriber: str) -> AuditBody:
    """Return what the audit is sent about a message: a pure function of it and its outcome."""
    is_accepted = outcome == ACCEPTED
    return {
        "message_id": message.message_id,
        "payment_id": message.payment["payment_id"],
        "outcome": outcome,
        "booking_id": derive("booking", message.message_id, subscriber) if is_accepted else None,
        "total": message.total if is_accepted else None,
    }
