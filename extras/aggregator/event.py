"""The events of a group and of a bad record: pure functions of the messages, with derived ids."""

from typing import Any

from extras.aggregator.group import Group
from extras.aggregator.names import TOTALLED, UNRECOVERABLE
from service.ids import derive, traceparent
from service.record import DeadLetter, payload, read_trace

GONE = "records_gone"

Event = dict[str, Any]


def total_event(group: Group) -> Event:
    """Return the total of a group that was summed from its first message to its completion."""
    return end_event(group, TOTALLED, group.total)


def unrecoverable_event(group: Group) -> Event:
    """Return the event that comes where a total would have come: the group's records are gone."""
    body = {"batch_id": group.batch_id, "begin": group.begin, "reason": GONE}
    return end_event(group, UNRECOVERABLE, body)


def end_event(group: Group, event_type: str, body: dict[str, Any]) -> Event:
    """Return what ends a group; however it ends, the event has the same id."""
    return {
        **group.begin,
        "batch_id": group.batch_id,
        "event_id": group.event_id,
        "traceparent": traceparent(None, group.event_id),
        "event_type": event_type,
        "replay": group.is_replay,
        "payload": body,
    }


def dead_letter_event(letter: DeadLetter, subscriber: str) -> Event:
    """Return the event of a dead letter."""
    place = letter.record.place
    position = "{topic}/{partition}/{offset}".format_map(place)
    event_id = derive("dead-letter", position, subscriber)
    return {
        **place,
        "event_id": event_id,
        "traceparent": traceparent(read_trace(letter.record), event_id),
        "payload": payload(letter, subscriber),
    }
