"""What screening makes of a payment: its event, its columns, its rule."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from contract.events import ACCEPTED, Event
from service.record import Message
from service.write import Rule, read_sql

SUBSCRIBER = "screening"

EVENTS = (Event("payment-screened", "screening.events", outcome=ACCEPTED),)

COLUMNS = "payment_id text, is_suspicious bool"

SUSPICIOUS = Decimal(100)


def facts(message: Message, _subscriber: str) -> dict[str, Any]:
    """Return the values of these columns for a message."""
    return {
        "payment_id": message.payment["payment_id"],
        "is_suspicious": Decimal(message.total) > SUSPICIOUS,
    }


RULE = Rule(read_sql(Path(__file__).with_name("rule.sql")), COLUMNS, facts, EVENTS)
