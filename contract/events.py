"""What is published, what it says about its message, and why an order is rejected."""

from typing import NamedTuple


class Event(NamedTuple):
    """One kind of event: its type, its topic, and which outcome of a message it reports or follows."""

    event_type: str
    topic: str
    outcome: str | None = None  # the deciding event of a message with this outcome
    follows: str | None = None  # a further event: each message with this outcome has exactly one


ACCEPTED = "fulfilled"
REJECTED = "rejected"

EVENTS = (
    Event("order-fulfilled", "fulfillment.events", outcome=ACCEPTED),
    Event("order-rejected", "rejection.events", outcome=REJECTED),
)

# Why an order is rejected. A reason may name the message that won, or have no winner.
REASONS = ("already_fulfilled",)

# The fields that the row of an accepted order and its event must agree on.
COMPARED = ("fulfillment_id", "order_id", "customer_id", "total", "lines")
