"""`pipeline outbox resend`: send events again, with the same id and the same bytes.

For events that a slot has skipped: it was lost, made again or moved by hand, or the publication was
changed. A row that leaves the outbox and comes back in one transaction is published once more.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.conninfo import make_conninfo

from contract.age import format_age
from ops.forget import retention
from ops.progress import step
from ops.settings import OUTBOXES, Env
from ops.stack.supervisor import StackError
from ops.topic import read

ROLE = "resender"
OPTIONS = "-c statement_timeout=600000"  # a time or a range of seq reads the whole table

CHOSEN = """
    select event_id, aggregate_type || '.events', occurred_at
    from outbox
    where (%(ids)s::uuid[] is null or event_id = any(%(ids)s))
        and (%(since)s::timestamptz is null or occurred_at >= %(since)s)
        and (%(until)s::timestamptz is null or occurred_at < %(until)s)
        and (%(to_seq)s = 0 or seq >= %(from_seq)s and seq < %(to_seq)s)
    order by seq
"""
WILL_BE_PUBLISHED = """
    select
        exists (
            select from pg_replication_slots
            where slot_name = %s and database = current_database() and wal_status <> 'lost'
        ),
        exists (
            select from pg_publication_tables t
            join pg_publication p using (pubname)
            where pubname = 'outbox' and tablename = 'outbox' and pubinsert
        )
"""
# How much earlier than its row an event can seem to be published, when the two clocks differ.
CLOCKS_DIFFER = timedelta(hours=1)


class Choice(NamedTuple):
    """Which events to send again: those to which all of this applies."""

    ids: list[UUID] | None = None
    since: datetime | None = None
    until: datetime | None = None
    seq: range | None = None
    missing: bool = False  # only what is not on its topic


class Event(NamedTuple):
    """An event of an outbox, without what it says."""

    id: UUID
    topic: str
    occurred_at: datetime


class Plan(NamedTuple):
    """What will be sent again from one outbox."""

    outbox: str
    found: int  # events to which the choice applies, on their topic or not
    events: list[Event]

    def describe(self) -> dict[str, Any]:
        """Return how many events it is about, and when the first and the last of them occurred."""
        times = [event.occurred_at for event in self.events]
        return {
            "outbox": self.outbox,
            "found": self.found,
            "events": len(times),
            "first": min(times).isoformat() if times else None,
            "last": max(times).isoformat() if times else None,
        }


def resend(env: Env, names: list[str], choice: Choice, batch: int | None, *, as_json: bool) -> int:
    """Say what will be sent again, send it unless there is no batch size, return the exit code."""
    with step("look for the events"):
        plans = [make_plan(env, name, choice) for name in names]
    if not as_json:
        print("\n".join(map(summarize, plans)))
        print("what is sent again comes after newer events of its key")
    done = []
    for plan in plans:
        sent = 0
        if plan.events and batch:
            with step(f"send again from the outbox {plan.outbox}") as note:
                sent = send(env, plan, batch, note)
        done.append(plan.describe() | {"sent": sent})
    if as_json:
        print(json.dumps(done))
    asked = set(choice.ids or [])
    unknown = len(asked) - sum(plan.found for plan in plans)
    if asked and unknown:
        print(f"{unknown} of the event ids are in no outbox", file=sys.stderr)
        return 1
    return 0


def make_plan(env: Env, outbox: str, choice: Choice) -> Plan:
    """Return what will be sent again; refuse what nobody would publish."""
    numbers = choice.seq or range(0)
    parameters = {
        "ids": choice.ids,
        "since": choice.since,
        "until": choice.until,
        "from_seq": numbers.start,
        "to_seq": numbers.stop,
    }
    with open_outbox(env, outbox) as session:
        refuse_unpublished(session, outbox)
        rows = session.execute(CHOSEN, parameters).fetchall()
    found = [Event(*row) for row in rows]
    events = found
    if choice.missing:
        published = published_ids(env["KAFKA_BOOTSTRAP_SERVERS"], found)
        events = [event for event in found if event.id not in published]
    return Plan(outbox, len(found), events)


def send(env: Env, plan: Plan, batch: int, note: Callable[[str], object]) -> int:
    """Send the events of a plan again, a limited number in each transaction; return how many."""
    ids = [event.id for event in plan.events]
    sent = 0
    with open_outbox(env, plan.outbox) as session:
        for start in range(0, len(ids), batch):
            some = ids[start : start + batch]
            row = session.execute("select resend(%s)", [some]).fetchone()
            assert row is not None
            sent += row[0]
            note(f"{sent:,} of {len(ids):,}")
    return sent


def summarize(plan: Plan) -> str:
    """Return what a plan is about, as a line for people."""
    count = len(plan.events)
    line = f"{plan.outbox}: {count:,} of {plan.found:,} events to send again"
    if not plan.events:
        return line
    about = plan.describe()
    first = about["first"]
    last = about["last"]
    return f"{line}, of {first} to {last}"


@contextmanager
def open_outbox(env: Env, outbox: str) -> Iterator[psycopg.Connection]:
    """Log in to the database of an outbox as the role that may send again and no more."""
    password_file = Path(env["SECRETS_DIR"], f"{ROLE}_password")
    try:
        password = password_file.read_text().strip()
        address = make_conninfo(
            env[OUTBOXES[outbox]], user=ROLE, password=password, options=OPTIONS
        )
        with psycopg.connect(address, autocommit=True, connect_timeout=5) as session:
            yield session
    except (psycopg.Error, OSError) as failure:
        cause, *_ = str(failure).splitlines()
        raise StackError(
            f"the outbox {outbox} cannot be read as {ROLE}: {cause} "
            "(is the stack up, and were the migrations run? python -m migrations upgrade)"
        ) from None


def refuse_unpublished(session: psycopg.Connection, outbox: str) -> None:
    """Refuse to send what would be skipped once more."""
    slot = f"{outbox}_outbox"
    row = session.execute(WILL_BE_PUBLISHED, [slot]).fetchone()
    assert row is not None
    has_slot, is_published = row
    if not has_slot:
        raise StackError(
            f"slot {slot} is missing or lost, and the events would be skipped again: "
            "make it again first (pipeline check --live prints how)"
        )
    if not is_published:
        raise StackError(
            f"inserts into the outbox {outbox} are not in its publication, and the events would "
            "be skipped again: publish them first (pipeline check --live prints how)"
        )


def published_ids(bootstrap: str, events: list[Event]) -> set[UUID]:
    """Return the ids of all events that are on the topics of these, from their time on."""
    earliest: dict[str, datetime] = {}
    for event in events:
        known = earliest.get(event.topic, event.occurred_at)
        earliest[event.topic] = min(known, event.occurred_at)
    ids = set()
    for topic, since in earliest.items():
        refuse_if_expired(bootstrap, topic, since)
        for message in read(bootstrap, topic, since - CLOCKS_DIFFER):
            headers = dict(message.headers() or [])
            event_id = headers["id"]
            assert isinstance(event_id, bytes)
            ids.add(UUID(event_id.decode()))
    return ids


def refuse_if_expired(bootstrap: str, topic: str, since: datetime) -> None:
    """Refuse a time from which the topic no longer has its records: all would seem missing."""
    kept = retention(bootstrap, topic)
    age = (datetime.now(UTC) - since).total_seconds()
    if age > kept:
        raise StackError(
            f"{topic} keeps a record for {format_age(kept)}, and an event of {format_age(age)} ago "
            "that is not there may have been there: with --missing, give a later --since"
        )
