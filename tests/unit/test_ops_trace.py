"""What a trace says of an event that is neither on its topic nor in the lake."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ops.trace.command import lines
from ops.trace.databases import Position, parse_position
from ops.trace.hops import MISSING, THERE, UNKNOWN, WAITING, Event, Hop, Trace, not_on_topic
from ops.trace.topics import Look

JUST_NOW = timedelta()
A_DAY = timedelta(days=1)
ALL_SEEN = Look(None, "not among 7 records")
MORE = Look(None, "not among 7 records, and there are more", is_complete=False)


def slot(bytes_behind: int, *, active: bool = True) -> dict[str, Any]:
    """Return how far a slot is read."""
    return {"active": active, "wal_status": "reserved", "bytes_behind": bytes_behind}


@pytest.mark.parametrize(
    ("found", "age", "look", "state"),
    [
        pytest.param(slot(0), JUST_NOW, ALL_SEEN, MISSING, id="the slot has passed it"),
        pytest.param(slot(500), JUST_NOW, ALL_SEEN, WAITING, id="written just now"),
        pytest.param(slot(500), A_DAY, ALL_SEEN, MISSING, id="others were written just now"),
        pytest.param(slot(10**9), A_DAY, ALL_SEEN, WAITING, id="the slot catches up"),
        pytest.param(slot(500, active=False), A_DAY, ALL_SEEN, WAITING, id="nobody reads it"),
        pytest.param(slot(0), A_DAY, MORE, UNKNOWN, id="the topic was too long to look through"),
        pytest.param(None, A_DAY, ALL_SEEN, MISSING, id="there is no slot"),
    ],
)
def test_an_event_that_is_not_there_waits_or_is_lost(
    found: dict[str, Any] | None, age: timedelta, look: Look, state: str
) -> None:
    """It waits as long as its slot may still come to it."""
    since = datetime.now(UTC) - age
    event = Event("fulfillment", "fulfillment.events", "o-1", "e-1", None, 0, since)
    hop = not_on_topic(event, look, found)
    assert hop.state == state
    assert hop.next, "a person is told where to look"


@pytest.mark.parametrize("text", ["o-1", "orders/1", "orders/1/x", "orders/1/2/3", "/", "a/-1/2"])
def test_an_id_is_no_position(text: str) -> None:
    """Ids may contain slashes."""
    assert parse_position(text) is None


def test_a_position_is_read_as_it_is_written() -> None:
    """As reports, dead letters and findings write it."""
    assert parse_position("order.events@abc/1/57") == Position("order.events@abc", 1, 57)
    assert str(Position("order.events", 1, 57)) == "order.events/1/57"


def test_what_is_not_fine_says_where_to_look() -> None:
    """A hop that is there needs no next step, whatever it would say."""
    hops = [
        Hop("record", THERE, "order.events/0/1", next="nowhere"),
        Hop("event", WAITING, "not yet", next="pipeline status"),
    ]
    printed = list(lines("o-1", [Trace("message m-1", hops)]))
    assert [line.strip() for line in printed] == [
        "message m-1",
        "record       there    order.events/0/1",
        "event        waiting  not yet",
        "→ pipeline status",
    ]
