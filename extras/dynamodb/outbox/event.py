"""The events, and the items of the outbox that hold them: all of it follows from the record."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import to_json

from service.ids import derive, traceparent
from service.record import DeadLetter, Message, payload, read_trace

# Whose events these are: the ids that it derives are no other subscriber's.
SUBSCRIBER = "tally"

TALLIED = "order-tallied"
BURIED = "record-dead-lettered"

Item = dict[str, Any]


class Event(NamedTuple):
    """What is published, and where to."""

    aggregate_id: str  # the key of the record, and the partition key of the item
    event_id: str
    topic: str
    event_type: str
    value: str  # JSON
    traceparent: str
    tracestate: str = ""

    def headers(self) -> list[tuple[str, str | bytes | None]]:
        """Return the headers; a subscriber may take the event's id for its message's id."""
        named = {
            "id": self.event_id,
            "message_id": self.event_id,
            "event_type": self.event_type,
            "traceparent": self.traceparent,
            "content-type": "application/json",
        }
        if self.tracestate:
            named["tracestate"] = self.tracestate
        return [(name, text.encode()) for name, text in named.items()]


def tallied(message: Message, topic: str) -> Event:
    """Return the event that an order was added to the tally of its customer."""
    event_id = derive("event", message.message_id, SUBSCRIBER)
    customer_id = message.order["customer_id"]
    value = {
        "message_id": message.message_id,
        "order_id": message.order["order_id"],
        "customer_id": customer_id,
        "total": message.total,
    }
    return Event(
        aggregate_id=customer_id,
        event_id=event_id,
        topic=topic,
        event_type=TALLIED,
        value=to_json(value).decode(),
        traceparent=traceparent(message.trace, event_id),
        tracestate=message.trace.state if message.trace else "",
    )


def buried(letter: DeadLetter, topic: str) -> Event:
    """Return the event that a record is a dead letter; its id follows from its position."""
    record = letter.record
    position = f"{record.topic}/{record.partition}/{record.offset}"
    event_id = derive("dead-letter", position, SUBSCRIBER)
    trace = read_trace(record)
    return Event(
        aggregate_id=position,
        event_id=event_id,
        topic=topic,
        event_type=BURIED,
        value=to_json(payload(letter, SUBSCRIBER)).decode(),
        traceparent=traceparent(trace, event_id),
        tracestate=trace.state if trace else "",
    )


def to_item(event: Event, expires_at: int) -> Item:
    """Return the event as an item of the outbox, which DynamoDB deletes after that time."""
    return {**event._asdict(), "expires_at": expires_at}


def from_item(item: Mapping[str, Any]) -> Event:
    """Return the event in an item of the outbox; one of an earlier version has no tracestate."""
    fields = {name: item[name] for name in Event._fields if name in item}
    return Event(**fields)
