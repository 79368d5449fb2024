"""The business rule, in Python: what rule.sql is given of a message, and what the audit is sent.

A copy replaces this file and rule.sql. Dedup, dead letters, outbox and transaction are in write.py
and write.sql, and know nothing of orders.
"""

from typing import Any

from contract.audit import AuditBody
from contract.events import ACCEPTED
from service.ids import derive
from service.record import Message

# The columns that rule.sql finds in `item`, beside those of write.sql.
COLUMNS = """
    order_id text, fulfillment_id uuid, customer_id text, placed_at text, lines json, total text
"""


def facts(message: Message, subscriber: str) -> dict[str, Any]:
    """Return the values of these columns for a message."""
    fulfillment_id = derive("fulfillment", message.message_id, subscriber)
    return {**message.order, "fulfillment_id": fulfillment_id, "total": message.total}


def audit_body(message: Message, outcome: str, subscriber: str) -> AuditBody:
    """Return what the audit is sent about a message: a pure function of it and its outcome."""
    is_accepted = outcome == ACCEPTED
    fulfillment_id = derive("fulfillment", message.message_id, subscriber)
    return {
        "message_id": message.message_id,
        "order_id": message.order["order_id"],
        "outcome": outcome,
        "fulfillment_id": fulfillment_id if is_accepted else None,
        "total": message.total if is_accepted else None,
    }
