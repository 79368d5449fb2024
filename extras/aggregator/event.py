"""What is published of a group or of a bad record: each a pure function of its messages, under a derived id."""

from typing import Any

from extras.aggregator.group import Group
from service.ids import derive, traceparent
from service.record import DeadLetter, payload

GONE = "records_gone"


def event(group: Group, event_type: str, body: dict[str, Any]) -> dict[str, Any]:
    """What ends a group: one event id for whatever it is that ends it."""
    ids = {
        "batch_id": group.batch_id,
        "event_id": group.event_id,
        "traceparent": traceparent(None, group.event_id),
    }
    return {**group.begin, **ids, "event_type": event_type, "payload": body}


def totalled(group: Group) -> dict[str, Any]:
    """The group was summed from its first message to its completion."""
    return event(group, "batch-totalled", group.total)


def unrecoverable(group: Group) -> dict[str, Any]:
    """Nobody can sum the group any more; whoever waits for its total learns it where the total would have been."""
    return event(
        group,
        "batch-unrecoverable",
        {"batch_id": group.batch_id, "begin": group.begin, "reason": GONE},
    )


def buried(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter and its event."""
    event_id = derive("dead-letter", "{topic}/{partition}/{offset}".format_map(letter.record.place))
    ids = {"event_id": event_id, "traceparent": traceparent(None, event_id)}
    return {**letter.record.place, **ids, "payload": payload(letter)}
