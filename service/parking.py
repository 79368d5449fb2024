"""PARK=true: what comes behind a dead letter of its key waits until somebody has dealt with it.

A letter with a key holds the key. Records that come with it are kept in `parked`, and their offsets
committed, so that all other keys go on. Once the letter was skipped, or its replay is handled, they
are handled in the sequence in which they came, each after the one before; one that becomes a dead
letter itself holds the key again.
"""

import json
import re
import time
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

import structlog
from pydantic_core import to_json
from sqlalchemy import Engine, Row, text

from contract.names import REPLAY_HEADER
from service import metrics
from service.database import classify_errors, exit_if_missing, wait_out_refusals
from service.handler import Steps, handle
from service.outage import AbandonedError, OutageError, Retry
from service.record import DeadLetter, Headers, Item, Record
from service.settings import Settings
from service.tries import ALONE, REASON, TOGETHER

log = structlog.get_logger()

POSITION = re.compile(rb"[\w.@-]+/\d+/\d+")
AT_ONCE = 200  # records that waited, each of another key, are handled like one batch
LOOK_SECONDS = 1.0  # between two looks at what may go on

# Which records must wait. A letter that comes again does not wait for itself, and what was sent
# again goes ahead of what waits for it.
FIND_WAITING = text("""
    with arrived as materialized (
        select *
        from json_to_recordset(cast(:records as json)) as record (
            n int,
            topic text,
            partition int,
            "offset" bigint,
            key_sha256 bytea,
            replay_of text
        )
    )

    select n
    from arrived
    where (
            exists (
                select
                from held_key
                where subscriber = :subscriber and key_sha256 = arrived.key_sha256
            )
            or exists (
                select
                from parked
                where subscriber = :subscriber and key_sha256 = arrived.key_sha256
            )
        )
        and not exists (
            select
            from held_key
            where subscriber = :subscriber
                and key_sha256 = arrived.key_sha256
                and concat_ws('/', topic, partition, "offset") in (
                    concat_ws('/', arrived.topic, arrived.partition, arrived."offset"),
                    arrived.replay_of
                )
        )
    order by n
""")

PARK = text("""
    insert into parked (
        subscriber, topic, partition, "offset", key_sha256, key, value, headers
    )
    values (:subscriber, :topic, :partition, :offset, :key_sha256, :key, :value, :headers)
    on conflict do nothing
""")

# After records were handled: those that are dead letters now hold their keys, unless somebody has
# dealt with them already; letters that they were a replay of hold nothing any more; and they do not
# wait. All at once, so that a key is never free in between.
NOTE_HANDLED = text("""
    with arrived as materialized (
        select *
        from json_to_recordset(cast(:records as json)) as record (
            n int,
            topic text,
            partition int,
            "offset" bigint,
            key_sha256 bytea,
            replay_of text
        )
    ),

    holding as (
        insert into held_key (subscriber, topic, partition, "offset", key_sha256)
        select :subscriber, topic, partition, "offset", key_sha256
        from arrived
        join (select * from dead_letter where subscriber = :subscriber) as letter
            using (topic, partition, "offset")
        where :holds
            and not exists (
                select
                from dead_letter_act as act
                where act.subscriber = :subscriber
                    and act.topic = arrived.topic
                    and act.partition = arrived.partition
                    and act."offset" = arrived."offset"
            )
        order by topic, partition, "offset"
        on conflict do nothing
    ),

    replayed as (
        delete from held_key
        using arrived
        where held_key.subscriber = :subscriber
            and held_key.key_sha256 = arrived.key_sha256
            and concat_ws('/', held_key.topic, held_key.partition, held_key."offset")
                = arrived.replay_of
    )

    delete from parked
    using arrived
    where parked.subscriber = :subscriber
        and parked.topic = arrived.topic
        and parked.partition = arrived.partition
        and parked."offset" = arrived."offset"
""")

# Of letters that were skipped; without PARK, of all.
LET_GO = text("""
    delete from held_key
    where subscriber = :subscriber
        and (
            not :holds
            or exists (
                select
                from dead_letter_act as act
                where act.subscriber = held_key.subscriber
                    and act.topic = held_key.topic
                    and act.partition = held_key.partition
                    and act."offset" = held_key."offset"
                    and act.act = 'skip'
            )
        )
""")

# Of each key that nothing holds, the record that came first.
FIND_FREE = text("""
    select *
    from (
        select distinct on (key_sha256) topic, partition, "offset", key, value, headers, tries
        from parked
        where subscriber = :subscriber
            and not exists (
                select
                from held_key
                where subscriber = parked.subscriber and key_sha256 = parked.key_sha256
            )
        order by key_sha256, id
    ) as first
    order by tries desc
    limit :at_once
""")

# Written before they are handled: one of them may end the process (service/tries.py).
COUNT_TRY = text("""
    update parked
    set tries = tries + :change
    where subscriber = :subscriber
        and (topic, partition, "offset") in (
            select topic, partition, "offset"
            from json_to_recordset(cast(:records as json)) as record (
                topic text,
                partition int,
                "offset" bigint
            )
        )
""")

COUNT = text("select count(*) from parked where subscriber = :subscriber")


class Group(Protocol):
    """What the consumer is here."""

    waits_for: str  # /readyz shows it
    before_waiting: Callable[[], None]

    def idle(self, seconds: float) -> None:
        """Wait, but keep polling; raise if the batch is lost."""


@dataclass
class Parking:
    """Where records wait for a dead letter of their key."""

    engine: Engine
    subscriber: str
    limit: int  # records that may wait
    holds: bool  # without PARK, what waits goes on and nothing new is held
    group: Group
    retry: Retry
    next_look: float = 0
    begun: list[Record] = field(default_factory=list)  # whose try is written down

    def handle_batch(self, records: Sequence[Record], steps: Steps) -> None:
        """Take a batch through every step, one record of each key at a time."""
        uncommitted = steps._replace(commit=commit_nothing)
        find_waiting = self.retry.wrap("park", self.find_waiting)
        note_handled = self.retry.wrap("park", self.note_handled)
        for turn in take_turns(records):
            waiting = find_waiting(turn)
            self.park(waiting, uncommitted)
            free = [record for record in turn if record not in waiting]
            if free:
                handle(free, uncommitted)
                note_handled(free)
            steps.poll()
        steps.commit(records)

    def park(self, waiting: Sequence[Record], steps: Steps) -> None:
        """Keep the records that have to wait, once there is room for them."""
        attempt = 0
        while waiting and (full := self.find_no_room(waiting)):
            self.group.waits_for = full
            steps.wait("park", attempt, OutageError(full))
            self.release(steps)  # somebody may have skipped letters
            attempt += 1
        self.group.waits_for = ""
        if waiting:
            self.retry.wrap("park", self.keep)(waiting)
            log.warning("parked", records=len(waiting), first=waiting[0].place)

    def release(self, steps: Steps) -> None:
        """Handle what need not wait any more, between two batches; an outage changes nothing."""
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + LOOK_SECONDS
        uncommitted = steps._replace(commit=commit_nothing)
        with suppress(OutageError, AbandonedError):
            free, fatal = self.find_free()
            if not free:
                return
            if fatal:
                uncommitted = uncommitted._replace(read=bury_unread)
            self.count_try(free)
            handle(free, uncommitted)
            self.note_handled(free)
            self.begun = []
            log.info("unparked", records=len(free), first=free[0].place)
            self.next_look = now  # behind each of them another may be free now
        self.take_back_try()

    def count_try(self, records: Sequence[Record]) -> None:
        """Write that these records are begun."""
        self.write_tries(records, 1)
        self.begun = list(records)

    def take_back_try(self) -> None:
        """Write that from now on the process may end for another reason, as far as that goes."""
        begun, self.begun = self.begun, []
        if begun:
            with suppress(OutageError):
                self.write_tries(begun, -1)

    def write_tries(self, records: Sequence[Record], change: int) -> None:
        """Count a try of these records, or take it back."""
        with wait_out_refusals(), classify_errors(), self.engine.connect() as connection:
            connection.execute(COUNT_TRY, {"change": change, **self.describe(records)})

    def find_waiting(self, records: Sequence[Record]) -> list[Record]:
        """Return the records whose key is held, or has records that came before and wait."""
        with wait_out_refusals(), classify_errors(), self.engine.connect() as connection:
            found = connection.scalars(FIND_WAITING, self.describe(records))
            return [records[n] for n in found]

    def find_no_room(self, waiting: Sequence[Record]) -> str:
        """Return a sentence if there is no room for these records."""
        with wait_out_refusals(), classify_errors(), self.engine.connect() as connection:
            count = connection.scalar(COUNT, {"subscriber": self.subscriber}) or 0
        if count + len(waiting) <= self.limit:
            return ""
        return (
            f"PARK_LIMIT={self.limit}: {count} records wait behind dead letters, and there is no"
            " room for more: skip letters (pipeline dead-letters), or raise the limit"
        )

    def keep(self, waiting: Sequence[Record]) -> None:
        """Write records down in one transaction, in the sequence in which they came."""
        rows = [{"subscriber": self.subscriber, **to_row(record)} for record in waiting]
        in_transaction = self.engine.execution_options(isolation_level="READ COMMITTED")
        with wait_out_refusals(), classify_errors(), in_transaction.begin() as connection:
            connection.execute(PARK, rows)

    def note_handled(self, records: Sequence[Record]) -> None:
        """Hold the keys of those that were buried, and let go what these records have settled."""
        with wait_out_refusals(), classify_errors(), self.engine.connect() as connection:
            connection.execute(NOTE_HANDLED, {"holds": self.holds, **self.describe(records)})

    def find_free(self) -> tuple[list[Record], bool]:
        """Return records that waited and need not any more, and whether to bury them unread.

        Each is of another key. One that was there when the process ended goes alone.
        """
        given = {"subscriber": self.subscriber, "holds": self.holds, "at_once": AT_ONCE}
        with wait_out_refusals(), classify_errors(), self.engine.connect() as connection:
            count = connection.scalar(COUNT, given) or 0
            metrics.PARKED.set(count)
            connection.execute(LET_GO, given)
            rows = connection.execute(FIND_FREE, given).all() if count else []
        most_tries = max((row.tries for row in rows), default=0)
        if most_tries >= TOGETHER:
            rows = rows[:1]  # it has the most
        return [from_row(row) for row in rows], most_tries >= TOGETHER + ALONE

    def describe(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return these records as parameters, without their bytes; those without a key never wait.

        So they are left out.
        """
        rows = [
            {"n": n, **record.place, "key_sha256": hash_key(record), "replay_of": replay_of(record)}
            for n, record in enumerate(records)
            if record.key is not None
        ]
        return {"subscriber": self.subscriber, "records": to_json(rows).decode()}


def find_parking(settings: Settings, engine: Engine, group: Group) -> Parking | None:
    """Return where records wait, or nothing where none does and none has to."""
    retry = Retry(group.idle, settings.retry_first_seconds, settings.retry_cap_seconds)
    parking = Parking(
        engine,
        settings.subscriber,
        settings.park_limit,
        settings.park,
        group,
        retry,
    )
    group.before_waiting = parking.take_back_try
    metrics.PARKING_LIMIT.set(settings.park_limit)
    count = retry.wrap("park", count_parked)(engine, settings.subscriber)
    if settings.park:
        return parking
    if not count:
        return None
    log.warning("records_are_parked", records=count, why="PARK=false: they go on now")
    return parking


def count_parked(engine: Engine, subscriber: str) -> int:
    """Return how many records wait, or end the process if the table is missing."""
    with exit_if_missing(), classify_errors(), engine.connect() as connection:
        return connection.scalar(COUNT, {"subscriber": subscriber}) or 0


def take_turns(records: Sequence[Record]) -> list[list[Record]]:
    """Split a batch so that each part holds each key once, all of them in sequence."""
    turns: dict[int, list[Record]] = defaultdict(list)  # the first is made first, and so on
    seen: dict[bytes, int] = defaultdict(int)
    for record in records:
        turn = 0
        if record.key is not None:
            turn = seen[record.key]
            seen[record.key] += 1
        turns[turn].append(record)
    return list(turns.values())


def bury_unread(record: Record) -> Item:
    """Return the dead letter of a record that has ended the process."""
    return DeadLetter(record, "invalid", REASON)


def commit_nothing(_records: Sequence[Record]) -> None:
    """Do nothing: the offsets are committed once all turns of the batch are through."""


def hash_key(record: Record) -> str:
    """Return by what a key is found."""
    return f"\\x{sha256(record.key or b'').hexdigest()}"


def replay_of(record: Record) -> str | None:
    """Return which dead letter this record is sent for again, if it is."""
    named = record.header_values(REPLAY_HEADER)
    if len(named) != 1 or not POSITION.fullmatch(named[0]):
        return None
    return named[0].decode()


def to_row(record: Record) -> dict[str, Any]:
    """Return a record as it is kept."""
    headers = [
        (name, None if value is None else b64encode(value).decode())
        for name, value in record.headers
    ]
    return {
        **record.place,
        "key_sha256": sha256(record.key or b"").digest(),
        "key": record.key,
        "value": record.value,
        "headers": json.dumps(headers),
    }


def from_row(row: Row[Any]) -> Record:
    """Return a record as it came."""
    headers: Headers = [
        (name, None if value is None else b64decode(value))
        for name, value in json.loads(row.headers)
    ]
    return Record(row.topic, row.partition, row.offset, row.key, row.value, headers)
