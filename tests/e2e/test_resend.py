"""`pipeline outbox resend` through the real Debezium: skipped events come out, as they are."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from deltalake import DeltaTable, QueryBuilder
from psycopg.errors import InsufficientPrivilege

from ops.stack.stack import Stack
from spark.repairing.sent_again import UNPUBLISHED, resend_events
from spark.settings import Settings
from tests.client import (
    Landed,
    connect,
    events,
    query,
    until,
    until_handled,
    until_published,
)
from tests.load import orders
from tests.reconciliation import Reconcile

TOPIC = "fulfillment.events"
EVENT_IDS = """
    select event_id::text from outbox
    where aggregate_type = 'fulfillment' and payload->>'message_id' = any(%s)
"""
OLD_EVENT = b"""
    insert into outbox
        (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload, occurred_at)
    values (%s, 'fulfillment', 'old', 'order-fulfilled', '-', '{}', now() - interval '8 days')
"""


def pipeline(stack: Stack, words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as it is typed, against the stack of this test."""
    command = [str(Path(sys.executable).with_name("pipeline")), *words.split()]
    env = stack.env() | {"ATTACH": "true"}
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def resend(stack: Stack, words: str, code: int = 0) -> list[dict[str, Any]]:
    """Send events again, and return what was said about each outbox."""
    done = pipeline(stack, f"outbox resend --json {words}")
    assert done.returncode == code, done.stdout + done.stderr
    said: list[dict[str, Any]] = json.loads(done.stdout)
    return said


@contextmanager
def unpublished(database: str = "fulfillment") -> Iterator[None]:
    """Take the outbox out of its publication for the time of a block, as a careless hand would."""
    with connect(database, "postgres") as admin:
        admin.execute("alter publication outbox drop table outbox")
        try:
            yield
        finally:
            admin.execute("alter publication outbox add table outbox")


def orders_handled(count: int) -> list[str]:
    """Return the message ids of this many orders, once the service has handled them."""
    message_ids = orders(count)
    until_handled()
    return message_ids


def rows(wanted: set[str]) -> list[Any]:
    """Return the rows of these events, with every column."""
    return query("select * from outbox where event_id = any(%s::uuid[]) order by seq", list(wanted))


def event_ids(message_ids: Sequence[str]) -> set[str]:
    """Return the ids of the events that the outbox has of these messages for this topic."""
    found = query(EVENT_IDS, list(message_ids))
    return {event_id for (event_id,) in found}


def published(wanted: set[str]) -> list[Landed]:
    """Return every copy of these events that is on the topic."""
    return events(TOPIC, lambda event: event.headers["id"].decode() in wanted)


def outcomes(stack: Stack, result: dict[str, Any], wanted: set[str]) -> dict[str, str]:
    """Return what reconciliation says of these events at their topic; matched ones have no row."""
    table = DeltaTable(f"{stack.env()['DELTA_ROOT']}/reconcile/outcome")
    rows = (
        QueryBuilder()
        .register("outcome", table)
        .execute(
            f"select id, outcome from outcome where run_id = '{result['run_id']}'"
            f" and hop = 'outbox → {TOPIC}'"
        )
        .read_all()
    )
    found = zip(rows.column("id").to_pylist(), rows.column("outcome").to_pylist(), strict=True)
    return {event_id: outcome for event_id, outcome in found if event_id in wanted}


@pytest.mark.prove
def test_events_that_were_skipped_are_sent_again(spoiled: Stack, reconcile: Reconcile) -> None:
    """What was written while the outbox was not published goes out, once, and reconciles.

    The control is the reconciliation before: it names each of these events as missing.
    """
    with unpublished():
        wanted = event_ids(orders_handled(20))
    arrived = event_ids(orders_handled(1))
    until_published(TOPIC, lambda e: e.headers["id"].decode() in arrived, 1)
    assert outcomes(spoiled, reconcile(), wanted) == dict.fromkeys(wanted, "missing")

    [would, _] = resend(spoiled, "--since 5m --missing --dry-run")
    assert (would["sent"], published(wanted)) == (0, [])
    [did, audit] = resend(spoiled, "--since 5m --missing --batch 7")
    assert would["events"] == did["events"] == did["sent"] >= 20
    assert audit["sent"] == 0

    until_published(TOPIC, lambda e: e.headers["id"].decode() in wanted, 20)
    assert outcomes(spoiled, reconcile(), wanted) == {}
    [nothing, _] = resend(spoiled, "--since 5m --missing")
    assert nothing["sent"] == 0


def test_a_second_copy_is_the_same(spoiled: Stack) -> None:
    """An event that had arrived is sent again with the same key, value and headers."""
    wanted = event_ids(orders_handled(3))
    until_published(TOPIC, lambda e: e.headers["id"].decode() in wanted, 3)
    before = rows(wanted)
    words = " ".join(f"--event-id {event_id}" for event_id in wanted)

    assert [each["sent"] for each in resend(spoiled, words)] == [3, 0]

    copies = until(lambda: published(wanted), lambda all_: len(all_) == 6, 30, "no second copies")
    for event_id in wanted:
        first, second = (e for e in copies if e.headers["id"].decode() == event_id)
        assert first == second
    assert rows(wanted) == before


def test_the_audit_outbox_is_sent_again(spoiled: Stack) -> None:
    """The audit receiver's outbox has a seq of its own, and the same way out."""
    orders_handled(2)
    newest = "select seq, event_id::text from outbox order by seq desc limit 2"
    (last, _), (first, _) = found = query(newest, database="audit")
    wanted = {event_id for _, event_id in found}
    [did] = resend(spoiled, f"--outbox audit --seq {first}-{last}")
    assert (did["outbox"], did["sent"]) == ("audit", 2)
    until(
        lambda: events("audit.events", lambda e: e.headers["id"].decode() in wanted),
        lambda copies: len(copies) >= 4,
        30,
        "no second copies on audit.events",
    )


def test_an_event_that_nobody_has_is_exit_code_1(spoiled: Stack) -> None:
    """An id that is in no outbox is counted, and the others are sent."""
    [known] = event_ids(orders_handled(1))
    done = pipeline(spoiled, f"outbox resend --event-id {known} --event-id {uuid4()}")
    assert done.returncode == 1
    assert "1 of the event ids are in no outbox" in done.stderr
    assert "fulfillment: 1 of 1 events to send again, of 20" in done.stdout
    assert "audit: 0 of 0 events to send again\n" in done.stdout
    assert "comes after newer events of its key" in done.stdout


def test_nothing_is_sent_to_where_nobody_publishes(spoiled: Stack) -> None:
    """While the publication lacks the outbox, events would be skipped once more: exit code 2."""
    with unpublished():
        done = pipeline(spoiled, "outbox resend --since 1m")
    assert done.returncode == 2
    assert "inserts into the outbox fulfillment are not in its publication" in done.stderr


def test_repair_sends_nothing_to_where_nobody_publishes(spoiled: Stack) -> None:
    """It names the way out instead, and sends the event once it would be published."""
    [event_id] = event_ids(orders_handled(1))
    topics = {event_id: TOPIC}
    with unpublished():
        assert resend_events(Settings(), topics) == {event_id: UNPUBLISHED}
    assert resend_events(Settings(), topics) == {}


def test_an_event_older_than_its_topic_is_not_called_missing(spoiled: Stack) -> None:
    """What the topic no longer keeps is not on it either: that is no reason to send it again."""
    old = str(uuid4())
    with connect(role="postgres") as admin:
        admin.execute(OLD_EVENT, [old])
    done = pipeline(spoiled, f"outbox resend --event-id {old} --missing")
    assert done.returncode == 2
    assert "fulfillment.events keeps a record for 7 d" in done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "delete from outbox",
        "insert into outbox default values",
        "update outbox set payload = '{}'",
        "select payload from outbox",
        "select * from tracking",
    ],
)
def test_the_role_may_do_nothing_else(spoiled: Stack, statement: str) -> None:
    """`resender` reads neither what events say nor any other table, and changes no row itself."""
    with connect(role="resender") as session, pytest.raises(InsufficientPrivilege):
        session.execute(statement.encode())


@pytest.mark.parametrize(
    ("role", "database"), [("app", "fulfillment"), ("audit", "audit"), ("cdc", "audit")]
)
def test_no_other_role_may_send_again(spoiled: Stack, role: str, database: str) -> None:
    """The service cannot delete a row through the function."""
    with connect(database, role) as session, pytest.raises(InsufficientPrivilege):
        session.execute("select resend('{}')")
