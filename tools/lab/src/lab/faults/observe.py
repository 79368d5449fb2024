"""Reads tables, topics and lake for the judge, with clients that no part of the pipeline uses.

Postgres through psycopg and SQL of its own, topics through a consumer that joins no group, the
lake through deltalake, without Spark.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # exported without a type
from deltalake import DeltaTable, QueryBuilder

from contract.events import EVENTS
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC, INPUT_TOPIC
from lab.environment import connect_as_admin
from lab.faults.facts import (
    Audited,
    Buried,
    Event,
    Facts,
    Fulfilled,
    Place,
    Record,
    Sent,
    Tables,
    Tracked,
)

Env = Mapping[str, str]
Row = tuple[Any, ...]
TOPICS = [INPUT_TOPIC, *(event.topic for event in EVENTS), DEAD_LETTER_TOPIC, AUDIT_TOPIC]
EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
ANSWER_SECONDS = 10.0
FAILURES = (psycopg.Error, KafkaException, OSError, TimeoutError)  # something was not there to ask

TRACKED = """
    select
        message_id, topic, partition, "offset", encode(value_sha256, 'hex'),
        audited_at is not null, audit_error
    from tracking
    where starts_with(message_id, %(prefix)s)
"""
FULFILLED = """
    select
        order_id, fulfillment_id::text, message_id, customer_id, placed_at, lines, total,
        xmin::text::bigint
    from fulfillment
    where starts_with(order_id, %(prefix)s)
"""
BURIED = """
    select topic, partition, "offset", reason, xmin::text::bigint
    from dead_letter
"""
OUTBOX = """
    select
        seq, event_id::text, aggregate_type || '.events', aggregate_id, event_type, payload::text,
        xmin::text::bigint
    from outbox
    where seq > %(after)s
    order by seq
"""
AUDITED = """
    select
        idempotency_key, audit_entry_id::text, message_id, order_id, outcome, fulfillment_id::text,
        total
    from audit_entry
    where starts_with(message_id, %(prefix)s)
"""
# What an earlier run wrote: a connector that starts again publishes it once more.
EARLIER = """
    select
        seq, event_id::text, aggregate_type || '.events', aggregate_id, event_type, payload::text,
        xmin::text::bigint
    from outbox
    where seq <= %(after)s and event_id = any(%(ids)s::uuid[])
"""
LAST = "select coalesce(max(seq), 0) from outbox"
LANDED = """
    select partition, "offset", key, value, headers
    from landed
    where {ranges}
"""


class Scope(NamedTuple):
    """What a run is judged by: ids that begin like this, and what came after these positions."""

    prefix: str
    starts: Mapping[tuple[str, int], int]
    outbox: int
    audit_outbox: int


EVERYTHING = Scope("", {}, 0, 0)


class Databases:
    """One connection to each database, kept until something happens to it."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.connections: dict[str, psycopg.Connection] = {}

    def rows(self, setting: str, sql: str, parameters: Any = None) -> list[Row]:
        """Return the rows of a statement in the database of this setting."""
        is_kept = setting in self.connections
        try:
            return self.ask(setting, sql, parameters)
        except psycopg.OperationalError:
            # Of a kept connection it may be long ago that the server has ended.
            if not is_kept:
                raise
            return self.ask(setting, sql, parameters)

    def ask(self, setting: str, sql: str, parameters: Any) -> list[Row]:
        """Do so once; a connection that has failed is not kept."""
        if setting not in self.connections:
            self.connections[setting] = connect_as_admin(self.env, setting)
        try:
            return self.connections[setting].execute(sql.encode(), parameters).fetchall()
        except psycopg.Error:
            self.connections.pop(setting).close()
            raise

    def close(self) -> None:
        """End them."""
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()


class Observer:
    """Reads on: a topic's records are read once and kept until the next scope."""

    def __init__(self, env: Env) -> None:
        self.env = dict(env)
        self.consumer = Consumer(
            {
                "bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"],
                "group.id": env["GROUP_ID"],  # it is only asked for its offsets
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        # A client of its own: behind a consumer's fetch each question waits for half a second.
        self.admin = AdminClient(
            {
                "bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"],
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self.databases = Databases(self.env)
        self.scope = EVERYTHING
        self.records: list[Record] = []

    def begin(self, prefix: str) -> None:
        """Look from now on only at what comes, and at these ids."""
        ends = self.ends(TOPICS)
        starts = {position: end for position, (_, end) in ends.items()}
        outbox = self.rows("DATABASE_URL", LAST)[0][0]
        audit_outbox = self.rows("AUDIT_DATABASE_URL", LAST)[0][0]
        self.look(Scope(prefix, starts, outbox, audit_outbox))

    def look(self, scope: Scope) -> None:
        """Look at this scope from its beginning."""
        self.scope = scope
        self.records = []
        ends = self.ends(TOPICS)
        self.consumer.assign(
            [
                TopicPartition(topic, partition, scope.starts.get((topic, partition), low))
                for (topic, partition), (low, _) in ends.items()
            ]
        )

    def close(self) -> None:
        """End every connection."""
        self.databases.close()
        self.consumer.close()

    def ends(self, topics: Sequence[str]) -> dict[tuple[str, int], tuple[int, int]]:
        """Return the first offset of each partition, and the one after the last."""
        known = self.admin.list_topics(timeout=ANSWER_SECONDS).topics
        places = [(topic, number) for topic in topics for number in known[topic].partitions]
        firsts = self.offsets(places, EARLIEST)
        ends = self.offsets(places, LATEST)
        return {place: (firsts[place], ends[place]) for place in places}

    def offsets(
        self, places: Iterable[tuple[str, int]], at: OffsetSpec
    ) -> dict[tuple[str, int], int]:
        """Return the first or the end offset of each partition."""
        asked = {TopicPartition(*place): at for place in places}
        answers = self.admin.list_offsets(asked, request_timeout=ANSWER_SECONDS)
        found = {}
        for partition, answer in answers.items():
            place = (partition.topic, partition.partition)
            found[place] = answer.result().offset
        return found

    def read(self, sent: Sequence[Sent], *, landed: bool) -> Facts:
        """Return what is there now; raise one of FAILURES if something cannot be asked."""
        ends = {partition: end for (_, partition), (_, end) in self.ends([INPUT_TOPIC]).items()}
        committed = self.committed(ends)
        tables = self.tables()
        self.read_on()
        earlier = self.earlier_events()
        lake = list(self.landed()) if landed else None
        return Facts(sent, tables, self.records, committed, ends, earlier, lake)

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return what the service's group has committed."""
        asked = [TopicPartition(INPUT_TOPIC, number) for number in partitions]
        found = self.consumer.committed(asked, timeout=ANSWER_SECONDS)
        return {partition.partition: max(0, partition.offset) for partition in found}

    def read_on(self) -> None:
        """Read every topic up to its end of now."""
        wanted = {position: end for position, (_, end) in self.ends(TOPICS).items()}
        deadline = time.monotonic() + ANSWER_SECONDS
        while any(self.position(*place) < end for place, end in wanted.items()):
            if time.monotonic() > deadline:
                raise TimeoutError("a topic does not give its records")
            for message in self.consumer.consume(1000, 0.2):
                self.keep(message)

    def position(self, topic: str, partition: int) -> int:
        """Return the offset that is read next."""
        [found] = self.consumer.position([TopicPartition(topic, partition)])
        if found.offset >= 0:
            return found.offset
        return self.scope.starts.get((topic, partition), 0)

    def keep(self, message: Message) -> None:
        """Note a record; an error that passes is none."""
        error = message.error()
        if error is None:
            self.records.append(as_record(message))
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise KafkaException(error)

    def tables(self) -> Tables:
        """Return what both databases hold."""
        scope = self.scope
        prefix = {"prefix": scope.prefix}
        service, audit = "DATABASE_URL", "AUDIT_DATABASE_URL"
        buried = [
            Buried(Place(*row[:3]), *row[3:])
            for row in self.rows(service, BURIED)
            if row[2] >= scope.starts.get((row[0], row[1]), 0)
        ]
        return Tables(
            tracked=[
                Tracked(row[0], Place(*row[1:4]), *row[4:])
                for row in self.rows(service, TRACKED, prefix)
            ],
            fulfilled=[Fulfilled(*row) for row in self.rows(service, FULFILLED, prefix)],
            buried=buried,
            events=[Event(*row) for row in self.rows(service, OUTBOX, {"after": scope.outbox})],
            audited=[Audited(*row) for row in self.rows(audit, AUDITED, prefix)],
            audit_events=[
                Event(*row) for row in self.rows(audit, OUTBOX, {"after": scope.audit_outbox})
            ],
        )

    def earlier_events(self) -> list[Event]:
        """Return those events on the topics that were written before this scope."""
        ids = [record.header("id") for record in self.records if record.place.topic != INPUT_TOPIC]
        befores = {
            "DATABASE_URL": self.scope.outbox,
            "AUDIT_DATABASE_URL": self.scope.audit_outbox,
        }
        return [
            Event(*row)
            for setting, after in befores.items()
            for row in self.rows(setting, EARLIER, {"after": after, "ids": ids})
        ]

    def rows(self, setting: str, sql: str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Return the rows of a statement in the database of this setting."""
        return self.databases.rows(setting, sql, parameters)

    def landed(self) -> Iterator[Record]:
        """Yield what has landed."""
        for topic in TOPICS:
            folder = Path(self.env["DELTA_ROOT"], "landed", topic)
            if not (folder / "_delta_log").exists():
                continue
            ranges = [
                f'partition = {partition} and "offset" >= {start}'
                for (name, partition), start in self.scope.starts.items()
                if name == topic
            ]
            query = LANDED.format(ranges=" or ".join(ranges) or "true")
            table = QueryBuilder().register("landed", DeltaTable(str(folder)))
            found = table.execute(query).read_all()
            names = ("partition", "offset", "key", "value", "headers")
            columns = [found.column(name).to_pylist() for name in names]
            for partition, offset, key, value, headers in zip(*columns, strict=True):
                pairs = tuple((header["key"], header["value"]) for header in headers or [])
                yield Record(Place(topic, partition, offset), key, value, pairs)


def as_record(message: Message) -> Record:
    """Return a message of the client as a plain row."""
    place = Place(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
    )
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Record(place, message.key(), message.value(), tuple(headers))
