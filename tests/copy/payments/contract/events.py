"""What is published, what it says about its message, and why a payment is rejected."""

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


ACCEPTED = "booked"
REJECTED = "rejected"
DEAD_LETTER = "dead_letter"  # of a record that is no message; the same in every copy

EVENTS = (
    Event(
        "payment-booked",
        "booking.events",
        outcome=ACCEPTED,
        columns="""
            message_id string,
            payment_id string,
            booking_id string,
            customer_id string,
            placed_at timestamp,
            total decimal(19, 2),
            currency string
        """,
    ),
    Event(
        "payment-rejected",
        "rejection.events",
        outcome=REJECTED,
        columns="""
            message_id string,
            payment_id string,
            reason string,
            booked_by string
        """,
    ),
    Event(
        "receipt-issued",
        "receipt.events",
        follows=ACCEPTED,
        columns="""
            message_id string,
            payment_id string,
            booking_id string,
            total decimal(19, 2),
            currency string
        """,
    ),
)

# Why a payment is rejected. A reason may name the message that won, or have no winner.
REASONS = ("already_booked", "currency_not_booked")

# The fields that the row of an accepted payment and its event must agree on.
COMPARED = ("booking_id", "payment_id", "customer_id", "total", "currency")
