"""What is published, what it says about its message, and why an order is rejected."""

from typing import NamedTuple


class Event(NamedTuple):
    """One kind of event: it decides what became of a message, or it follows such an event."""

    event_type: str
    topic: str
    outcome: str | None = None  # the deciding event of a message with this outcome
    follows: str | None = None  # a further event: each message with this outcome has exactly one
    columns: str = ""  # its body in SQL types, for its event table

    @property
    def aggregate_type(self) -> str:
        """Return what the outbox calls the topic: Debezium puts `.events` behind it."""
        return self.topic.removesuffix(".events")


ACCEPTED = "fulfilled"
REJECTED = "rejected"
DEAD_LETTER = "dead_letter"  # of a record that is no message; the same in every copy

EVENTS = (
    Event(
        "order-fulfilled",
        "fulfillment.events",
        outcome=ACCEPTED,
        columns="""
            message_id string,
            order_id string,
            fulfillment_id string,
            customer_id string,
            placed_at timestamp,
            lines array<struct<sku: string, quantity: int, unit_price: decimal(19, 2)>>,
            total decimal(28, 2)
        """,
    ),
    Event(
        "order-rejected",
        "rejection.events",
        outcome=REJECTED,
        columns="""
            message_id string,
            order_id string,
            reason string,
            fulfilled_by string
        """,
    ),
)

# Why an order is rejected. A reason may name the message that won, or have no winner.
REASONS = ("already_fulfilled",)

# The fields that the row of an accepted order and its event must agree on.
COMPARED = ("fulfillment_id", "order_id", "customer_id", "total", "lines")
