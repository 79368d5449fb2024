"""Which dead letters and events of theirs the role `purger` can delete: none that is open."""

import json
import os
from collections.abc import Iterator, Sequence
from uuid import uuid4

import pytest

from contract.events import ACCEPTED
from migrations.retired import make_retire
from ops.letters.acts import DEAD_AGAIN
from ops.letters.command import say_there_is_none
from ops.stack.stack import Stack
from tests.client import connect, fresh, query

Done = list[tuple[str, int | None, str | None]]

# What was done about each letter: the act, the offset to which it was sent, and what became of it.
OPEN: dict[str, Done] = {
    "nothing": [],
    "planned": [("replay", None, None)],
    "on its way": [("replay", 900, None)],
}
CLOSED: dict[str, Done] = {
    "handled": [("replay", None, None), ("replay", 901, ACCEPTED)],
    "dead again": [("replay", 902, DEAD_AGAIN)],
    "skipped": [("skip", None, None)],
}
LETTERS = {**OPEN, **CLOSED}

BURY = """
    insert into dead_letter (subscriber, topic, partition, "offset", kind, reason)
    values (%s, %s, 0, %s, 'invalid', 'value: null')
"""
PUBLISH = """
    insert into outbox (
        event_id, aggregate_type, aggregate_id, event_type, payload, traceparent
    )
    values (%s, 'dead-letter', %s, 'record-dead-lettered', %s, '00-0-0-00')
"""
ACT = """
    insert into dead_letter_act (
        subscriber, topic, partition, "offset", act, why, acted_by, sent_partition, sent_offset,
        outcome
    )
    values (%s, %s, 0, %s, %s, 'a test', 'a test', 0, %s, %s)
"""
RETIRE_LETTERS = "select retire_letters(%s, %s, %s::jsonb, 100)"
RETIRE = """
    select retire(
        array['record-dead-lettered'], pg_current_xact_id()::text::bigint, 100000, '(0,0)'
    )
"""
LEFT = 'select "offset" from dead_letter where subscriber = %s order by "offset"'
EVENTS_LEFT = "select (payload->>'offset')::int from outbox where payload->>'subscriber' = %s"


@pytest.fixture
def subscriber(spoiled: Stack) -> Iterator[str]:
    """A subscriber of its own, with a letter of each kind, each at an offset of its own."""
    name = fresh("subscriber")
    with connect(role="postgres") as admin:
        for offset, acts in enumerate(LETTERS.values()):
            place = {"topic": name, "partition": 0, "offset": offset, "subscriber": name}
            admin.execute(BURY, (name, name, offset))
            admin.execute(PUBLISH, (uuid4(), f"{name}/0/{offset}", json.dumps(place)))
            for act, sent, outcome in acts:
                admin.execute(ACT, (name, name, offset, act, sent, outcome))
    yield name
    with connect(role="postgres") as admin:
        admin.execute("delete from dead_letter where subscriber = %s", (name,))


def retire_letters(
    subscriber: str,
    closed_before: str = "now",
    log_start: int = 100,
    written_before: int = 2**60,
) -> None:
    """Delete what the role `purger` can delete, as after a good reconciliation."""
    with connect(role="purger") as purger:
        given = {"written_before": written_before, "log_starts": {f"{subscriber}/0": log_start}}
        purger.execute(RETIRE_LETTERS, (subscriber, closed_before, json.dumps(given)))


def names_of(offsets: Sequence[tuple[int]]) -> set[str]:
    """Return the letters at these offsets."""
    return {list(LETTERS)[offset] for (offset,) in offsets}


def test_only_closed_letters_are_deleted_and_noted(subscriber: str) -> None:
    """One that was sent and not followed to its end is as open as one that nobody looked at."""
    retire_letters(subscriber)
    assert names_of(query(LEFT, subscriber)) == set(OPEN)
    place = f"{subscriber}/0/{list(LETTERS).index('skipped')}"
    env = {**os.environ, "SUBSCRIBER": subscriber}
    was_one, act = say_there_is_none(env, place)
    assert was_one.startswith(f"{place} was a dead letter")
    assert act.startswith("skip ")
    noted = "select offsets::text, letters from retired_letter where subscriber = %s"
    assert query(noted, subscriber) == [("{[3,6)}", 3)]
    acts = "select count(*) from dead_letter_act where subscriber = %s"
    assert query(acts, subscriber) == [(sum(len(done) for done in LETTERS.values()),)]


@pytest.mark.parametrize(
    ("closed_before", "log_start", "written_before"),
    [("yesterday", 100, 2**60), ("now", 3, 2**60), ("now", 100, 1)],
    ids=["young", "in Kafka", "not judged"],
)
def test_a_closed_letter_waits_for_the_rest(
    subscriber: str, closed_before: str, log_start: int, written_before: int
) -> None:
    """It stays while it is young, while Kafka has its record, and until it is judged."""
    retire_letters(subscriber, closed_before, log_start, written_before)
    assert names_of(query(LEFT, subscriber)) == set(LETTERS)


def test_the_events_of_open_letters_stay(subscriber: str) -> None:
    """They have the bytes that somebody may send again."""
    with connect(role="purger") as purger:
        purger.execute(RETIRE)
    assert names_of(query(EVENTS_LEFT, subscriber)) == set(OPEN)


def test_control_without_the_condition_they_go(subscriber: str) -> None:
    """The function as it was before takes the bytes of letters that are open."""
    with connect(role="postgres") as admin, admin.transaction(force_rollback=True):
        admin.execute(make_retire().encode())
        admin.execute(RETIRE)
        left = admin.execute(EVENTS_LEFT, (subscriber,)).fetchall()
    assert left == []
    assert len(query(EVENTS_LEFT, subscriber)) == len(LETTERS)
