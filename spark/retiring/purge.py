"""What is old in the databases: tracking rows, events of the outboxes, audit entries.

Each is deleted in small transactions by a function of the database, which notes what it deletes.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from contract.events import EVENTS
from contract.names import AUDIT_DATABASE, AUDIT_TOPIC, DATABASE
from spark.judging.horizon import first_transaction
from spark.judging.seal import Run, late_since
from spark.judging.shares import OF_ENTRIES, OF_LETTERS
from spark.kafka.positions import Position, kafka_topic
from spark.lake.landed_tables import read_within
from spark.retiring.confirmed import confirm_forgotten, note_retired, read_notes
from spark.rows.frames import query
from spark.rows.retired import STATEMENTS as OF_RETIRED
from spark.session import log_progress, make_frame
from spark.settings import SECONDS_OF_A_DAY, Settings
from spark.statements import read_statements

ROLE = "purger"
CONNECT_SECONDS = 5
BATCH = 1_000  # rows in a transaction: no writer waits for longer
BEGINNING = "(0,0)"  # of a table
STRETCHES_SCHEMA = "topic string, partition int, stretch bigint, start bigint, stop bigint"
STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))

# Those of the core. What an extra publishes is its own to delete.
TYPES = {
    DATABASE: [*(event.event_type for event in EVENTS), "record-dead-lettered"],
    AUDIT_DATABASE: ["audit-entry-recorded"],
}


class Limits(NamedTuple):
    """Up to where a good run has judged."""

    before: Mapping[str, int]  # of each database: what earlier transactions wrote
    log_starts: Mapping[str, int]  # of each topic/partition of the input: what Kafka has no more of
    judged: Mapping[Position, range]  # of all topics, by what their rows are called


class Old(NamedTuple):
    """What of one thing is old enough to go."""

    what: str
    days: float | None  # None: it does not go at any age
    rows: int
    oldest: str | None
    stays: str = ""  # how much is as old and stays, and why


class Purge(NamedTuple):
    """What is old, and how it is deleted."""

    old: Old
    delete: Callable[[], int]  # returns how much was deleted


def find_limits(run: Run) -> Limits:
    """Return up to where all is well, unless the run has found a defect.

    What was written before is published and has landed: by transactions that were over, and that
    wrote nothing that is late.
    """
    late = late_since(run.settled.databases.frames, run.judged.outcomes)
    before = {}
    for database, snapshot in run.settled.databases.snapshots.items():
        first = first_transaction(snapshot.moment)
        before[database] = min(first, late.get(database, first))
    input_topic = run.settled.topics.input
    log_starts = {}
    for (topic, partition), offsets in run.settled.extent.current.items():
        if kafka_topic(topic) == input_topic:
            log_starts[f"{topic}/{partition}"] = offsets.start
    for (topic, partition), offsets in run.settled.extent.earlier.items():
        if kafka_topic(topic) == input_topic:  # deleted with its topic
            log_starts[f"{topic}/{partition}"] = offsets.stop
    judged = run.settled.extent.all()
    for (topic, partition), offsets in judged.items():
        if topic == run.settled.topics.input_name:
            handled = run.settled.group.committed.get(partition, 0)
            judged[topic, partition] = range(offsets.start, min(offsets.stop, handled))
    return Limits(before, log_starts, judged)


def find_old_rows(spark: SparkSession, settings: Settings, limits: Limits) -> Iterator[Purge]:
    """Yield what is old in the databases."""
    yield find_old_tracking(spark, settings, limits)
    yield from find_old_outboxes(settings, limits)
    yield find_old_entries(spark, settings, limits)
    yield find_old_letters(spark, settings, limits)


def find_old_outboxes(settings: Settings, limits: Limits) -> Iterator[Purge]:
    """Yield what is old in each outbox."""
    for database in limits.before:
        yield find_old_events(settings, limits, database)


def find_old_tracking(spark: SparkSession, settings: Settings, limits: Limits) -> Purge:
    """Return the messages that were handled long ago and cannot come again."""
    before = limits.before[DATABASE]
    given = {
        "subscriber": settings.subscriber,
        "age": settings.retention_tracking_days * SECONDS_OF_A_DAY,
        "before": before,
        "log_starts": json.dumps(limits.log_starts),
    }
    with connect(settings, DATABASE) as session:
        [found] = session.execute(STATEMENTS["tracking"], given)
    handled_before, count, oldest, in_kafka, unaudited, open_, written_before = found
    stays = say_what_stays(
        {
            "may be read again, Kafka still has it": in_kafka,
            "the audit receiver has not taken its entry": unaudited,
            "not judged yet": open_,
        }
    )
    old = Old("tracking", settings.retention_tracking_days, count, oldest, stays)
    judged = json.dumps({"written_before": before, "log_starts": limits.log_starts})
    parameters = {
        "subscriber": settings.subscriber,
        "handled_before": handled_before,
        "judged": judged,
    }

    def delete() -> int:
        with connect(settings, DATABASE) as session:
            before = read_notes(session, settings.subscriber)
            deleted = delete_rows(settings, old, DATABASE, "forget", parameters)
            if deleted:
                confirm_forgotten(spark, settings, session, before, written_before)
        return deleted

    return Purge(old, delete)


def find_old_events(settings: Settings, limits: Limits, database: str) -> Purge:
    """Return what of an outbox can go: it is old, and nothing that is open is as old."""
    given = {
        "first": limits.before[database],
        "types": TYPES[database],
        "age": settings.retention_outbox_days * SECONDS_OF_A_DAY,
    }
    with connect(settings, database) as session:
        events = session.execute(STATEMENTS["open_events"]) if database == DATABASE else ()
        of_open_letters = [event_id for (event_id,) in events]
        [found] = session.execute(STATEMENTS["outbox"], {**given, "open": of_open_letters})
    before, count, oldest, not_judged, open_ = found
    stays = say_what_stays(
        {
            "not judged yet, or written with what is younger": not_judged,
            "their dead letters are open": open_,
        }
    )
    old = Old(f"outbox of {database}", settings.retention_outbox_days, count, oldest, stays)
    parameters = {"types": TYPES[database], "before": before}
    return Purge(old, lambda: delete_rows(settings, old, database, "retire", parameters))


def delete_rows(
    settings: Settings, old: Old, database: str, statement: str, parameters: Mapping[str, object]
) -> int:
    """Delete rows a thousand at a time, each batch with a note of it; return how many."""
    deleted = 0
    behind = BEGINNING
    with connect(settings, database) as session:
        while behind:
            given = {**parameters, "most": BATCH, "behind": behind}
            [(count, behind)] = session.execute(STATEMENTS[statement], given)
            deleted += count
            if count:
                log_progress(f"{old.what}: {deleted:,} of {old.rows:,} are deleted")
    return deleted


def find_old_entries(spark: SparkSession, settings: Settings, limits: Limits) -> Purge:
    """Return the audit entries whose events landed long ago."""
    before = limits.before[AUDIT_DATABASE]
    events = find_entry_events(spark, settings, limits).persist()
    count, open_, written_before = 0, 0, 0
    oldest: str | None = None
    with connect(settings, AUDIT_DATABASE) as session:
        for batch in batches(events):
            landed_at = {row.idempotency_key: row.landed_at for row in batch}
            given = {"keys": list(landed_at), "before": before}
            for key, is_judged, written_by in session.execute(STATEMENTS["entries"], given):
                count += is_judged
                open_ += not is_judged
                if is_judged:
                    oldest = min(oldest or landed_at[key], landed_at[key])
                    written_before = max(written_before, written_by + 1)
    stays = say_what_stays({"not judged yet": open_})
    old = Old("audit entries", settings.retention_audit_days, count, oldest, stays)

    def delete() -> int:
        deleted = retire_entries(settings, old, events, before)
        if deleted:
            note_retired(spark, settings, AUDIT_DATABASE, OF_ENTRIES, written_before)
        return deleted

    return Purge(old, delete)


def find_old_letters(spark: SparkSession, settings: Settings, limits: Limits) -> Purge:
    """Return the dead letters that were closed long ago and whose records cannot come again."""
    given = {
        "subscriber": settings.subscriber,
        "age": settings.retention_letters_days * SECONDS_OF_A_DAY,
        "before": limits.before[DATABASE],
        "log_starts": json.dumps(limits.log_starts),
    }
    with connect(settings, DATABASE) as session:
        [found] = session.execute(STATEMENTS["letters"], given)
    closed_before, count, oldest, open_, young, in_kafka, not_judged, written_before = found
    stays = say_what_stays(
        {
            "open": open_,
            "closed not so long ago": young,
            "may be read again, Kafka still has the record": in_kafka,
            "not judged yet": not_judged,
        }
    )
    old = Old("dead letters", settings.retention_letters_days, count, oldest, stays)
    judged = {"written_before": limits.before[DATABASE], "log_starts": limits.log_starts}
    parameters = {
        "subscriber": settings.subscriber,
        "closed_before": closed_before,
        "judged": json.dumps(judged),
    }

    def delete() -> int:
        deleted = retire_letters(settings, old, parameters)
        if deleted:
            note_retired(spark, settings, DATABASE, OF_LETTERS, written_before)
        return deleted

    return Purge(old, delete)


def retire_letters(settings: Settings, old: Old, parameters: Mapping[str, object]) -> int:
    """Delete closed letters a thousand at a time, each batch with a note of it; return how many."""
    deleted = 0
    with connect(settings, DATABASE) as session:
        while True:
            given = {**parameters, "most": BATCH}
            [(count,)] = session.execute(STATEMENTS["retire_letters"], given)
            if not count:
                return deleted
            deleted += count
            log_progress(f"{old.what}: {deleted:,} of {old.rows:,} are deleted")


def find_entry_events(spark: SparkSession, settings: Settings, limits: Limits) -> DataFrame:
    """Return the events of audit entries that landed long ago, but of those retired already."""
    judged = {
        (topic, partition): range(offsets.stop)  # Kafka has deleted most of them long ago
        for (topic, partition), offsets in limits.judged.items()
        if kafka_topic(topic) == AUDIT_TOPIC
    }
    landed = read_within(spark, settings.delta_root, [AUDIT_TOPIC], judged)
    with connect(settings, AUDIT_DATABASE) as session:
        retired = session.execute(STATEMENTS["retired_offsets"]).fetchall()
    given = {"landed": landed, "retired": make_frame(spark, retired, STRETCHES_SCHEMA)}
    landed = query(OF_RETIRED["not_retired"], given)
    age = timedelta(days=settings.retention_audit_days)
    old = landed.where(F.col("timestamp") < F.lit(datetime.now(UTC) - age))
    fields = ("idempotency_key", "audit_entry_id", "body_sha256")
    of_body = [f"get_json_object(string(value), '$.{name}') as {name}" for name in fields]
    landed_at = "date_format(timestamp, 'yyyy-MM-dd HH:mm:ss') as landed_at"
    with_keys = old.selectExpr("topic", "partition", "offset", landed_at, *of_body)
    return with_keys.where("idempotency_key is not null").orderBy("topic", "partition", "offset")


def retire_entries(settings: Settings, old: Old, events: DataFrame, before: int) -> int:
    """Delete the entries of these events a thousand at a time, each batch with a note of it."""
    deleted = 0
    with connect(settings, AUDIT_DATABASE) as session:
        for batch in batches(events.drop("landed_at")):
            landed = json.dumps([row.asDict() for row in batch])
            given = {"landed": landed, "before": before}
            [(count,)] = session.execute(STATEMENTS["retire_entries"], given)
            deleted += count
            if count:
                log_progress(f"{old.what}: {deleted:,} of {old.rows:,} are deleted")
    return deleted


def batches(rows: DataFrame) -> Iterator[list[Row]]:
    """Yield the rows of a frame, a thousand at a time."""
    left = rows.toLocalIterator()
    while batch := list(islice(left, BATCH)):
        yield batch


def say_what_stays(counts: Mapping[str, int]) -> str:
    """Return how much stays for each reason."""
    return "; ".join(f"{count:,} stay: {reason}" for reason, count in counts.items() if count)


@contextmanager
def connect(settings: Settings, database: str) -> Iterator[psycopg.Connection]:
    """Log in as the role that deletes what is old."""
    url = settings.databases()[database]
    password = settings.purger_password_file.read_text().strip()
    address = make_conninfo(url, user=ROLE, password=password)
    with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as session:
        yield session
