"""What the page asks of each part: how much there is, how much waits, how long the latest took."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Message, TopicPartition

from ops.page.pace import Pace, Waits
from ops.positions import TIMEOUT, landed
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.topic import reader, spans
from ops.trace.databases import Position, Row, open_databases, position_of
from ops.trace.lake import Run, read_runs
from ops.trace.topics import header_of, messages
from spark.kafka.positions import kafka_topic
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
POLL_SECONDS = 2.0  # for the latest records of all topics
RUNS = 30  # reconciliations
BUCKETS = ("s3://", "s3a://", "gs://", "abfss://")


class Took(NamedTuple):
    """How long the latest one took, and when that was."""

    seconds: float
    at: datetime


class Topics(NamedTuple):
    """What the topics hold, and how far the service is."""

    held: Mapping[str, int]  # records of each topic
    ends: Mapping[str, int]  # the sum of the ends of its partitions
    paces: Mapping[str, float | None]  # records a second
    took: Mapping[str, Took]  # from the transaction to the topic, or for the input to the tracking
    lag: int
    waits: float  # seconds


class Rows(NamedTuple):
    """What the databases hold, about, and what waits for the audit receiver."""

    service: Mapping[str, int]
    audit: Mapping[str, int]
    handled: Position | None  # the record of the latest message of the last minute
    handled_at: datetime | None
    audited: Took | None
    unaudited: int
    unaudited_for: float  # seconds
    refused: int


class Landed(NamedTuple):
    """How far the landing is, as its checkpoint says."""

    landed: int
    waiting: int
    waits: float  # seconds


@dataclass
class TopicsReader:
    """Looks at the topics, and remembers what it has seen of them."""

    env: Env
    topics: Sequence[str]  # the input topic and those of the outboxes
    handled: Callable[[], Rows | None]  # what is known of the latest message that was handled
    paces: dict[str, Pace] = field(default_factory=dict)
    waits: dict[int, Waits] = field(default_factory=dict)
    seen: dict[tuple[str, int], int] = field(default_factory=dict)  # the end of each partition
    took: dict[str, Took] = field(default_factory=dict)

    def look(self) -> Topics:
        """Return what they hold now."""
        input_topic = self.env["INPUT_TOPIC"]
        with reader(self.env["KAFKA_BOOTSTRAP_SERVERS"], self.env["GROUP_ID"]) as consumer:
            found = {topic: spans(consumer, topic, TIMEOUT) for topic in self.topics}
            done = committed(consumer, input_topic, found[input_topic])
            self.look_at_latest(consumer, found)
        at = time.monotonic()
        ends = {
            topic: sum(span.stop for span in of_topic.values()) for topic, of_topic in found.items()
        }
        for topic, end in ends.items():
            self.paces.setdefault(topic, Pace()).see(at, end)
        for number, span in found[input_topic].items():
            self.waits.setdefault(number, Waits()).see(at, span.stop, done[number])
        return Topics(
            held={topic: sum(map(len, of_topic.values())) for topic, of_topic in found.items()},
            ends=ends,
            paces={topic: pace.a_second() for topic, pace in self.paces.items()},
            took=dict(self.took),
            lag=sum(span.stop - done[number] for number, span in found[input_topic].items()),
            waits=max((waits.seconds(at) for waits in self.waits.values()), default=0.0),
        )

    def look_at_latest(self, consumer: Consumer, found: Mapping[str, Mapping[int, range]]) -> None:
        """Read the last record of each partition that has grown, and how long each took."""
        rows = self.handled()
        starts = list(self.grown(found))
        if rows is not None and rows.handled is not None:
            topic = kafka_topic(rows.handled.topic)
            starts.append(TopicPartition(topic, rows.handled.partition, rows.handled.offset))
        consumer.assign(starts)
        for message in messages(consumer, len(starts), time.monotonic() + POLL_SECONDS):
            if message.topic() == self.env["INPUT_TOPIC"]:
                took = time_to_handle(message, rows)
            else:
                took = time_to_publish(message)
            if took is not None:
                topic = message.topic() or ""
                before = self.took.get(topic, took)
                self.took[topic] = max(before, took, key=lambda one: one.at)

    def grown(self, found: Mapping[str, Mapping[int, range]]) -> Iterator[TopicPartition]:
        """Yield where the last record of each partition is that has one it had not before."""
        for topic, of_topic in found.items():
            if topic == self.env["INPUT_TOPIC"]:
                continue
            for number, span in of_topic.items():
                if span and self.seen.get((topic, number)) != span.stop:
                    self.seen[topic, number] = span.stop
                    yield TopicPartition(topic, number, span.stop - 1)


def committed(consumer: Consumer, topic: str, found: Mapping[int, range]) -> dict[int, int]:
    """Return up to where the service has handled each partition."""
    asked = [TopicPartition(topic, number) for number in found]
    answers = consumer.committed(asked, timeout=TIMEOUT)
    return {one.partition: max(one.offset, found[one.partition].start) for one in answers}


def sent_at(message: Message) -> datetime:
    """Return the time of a record."""
    _, milliseconds = message.timestamp()
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def time_to_publish(message: Message) -> Took | None:
    """Return how long an event took from its transaction to its topic."""
    written = header_of(message, "ce_time")
    try:
        written_at = datetime.fromisoformat(as_text(written))
        at = sent_at(message)
        return Took(max(0.0, (at - written_at).total_seconds()), at)
    except (ValueError, TypeError):
        return None  # what is no event of ours has no time


def time_to_handle(message: Message, rows: Rows | None) -> Took | None:
    """Return how long a record took from its topic to its tracking, if this is the latest one."""
    if rows is None or rows.handled is None or rows.handled_at is None:
        return None
    is_meant = (message.partition(), message.offset()) == rows.handled[1:]
    if not is_meant:
        return None
    seconds = (rows.handled_at - sent_at(message)).total_seconds()
    return Took(max(0.0, seconds), rows.handled_at)


def as_text(value: str | bytes | None) -> str:
    """Return the value of a header as text."""
    return value.decode() if isinstance(value, bytes) else value or ""


def read_rows(env: Env, *, audits: bool) -> Rows:
    """Return what the databases hold; where nothing is posted, nothing waits for an answer."""
    given = {"subscriber": env["SUBSCRIBER"]}
    with open_databases(env) as databases:

        def ask(name: str) -> Row | None:
            return databases.service.execute(STATEMENTS[name].encode(), given).fetchone()

        handled, audited, unaudited = ask("handled"), ask("audited"), ask("unaudited")
        tables = STATEMENTS["tables"].encode()
        service = databases.service.execute(tables).fetchall()
        audit = databases.audit.execute(tables).fetchall()
    assert unaudited is not None  # it counts
    return Rows(
        service=as_counts(service),
        audit=as_counts(audit),
        handled=position_of(handled) if handled else None,
        handled_at=handled["handled_at"] if handled else None,
        audited=Took(audited["seconds"], audited["audited_at"]) if audited else None,
        unaudited=unaudited["waiting"] if audits else 0,
        unaudited_for=unaudited["seconds"] if audits else 0.0,
        refused=unaudited["refused"],
    )


def as_counts(rows: Sequence[Row]) -> dict[str, int]:
    """Return the rows of each table."""
    return {row["name"]: row["rows"] for row in rows}


@dataclass
class LandingReader:
    """Looks at the landing's checkpoint, and remembers when what waits came."""

    env: Env
    topics: Callable[[], Topics | None]
    waits: Waits = field(default_factory=Waits)

    def look(self) -> Landed:
        """Return how many records have landed, and how many wait for it."""
        refuse_bucket(self.env)
        done = landed(self.env)
        if not done:
            raise StackError("nothing has landed yet: pipeline land")
        topics = self.topics()
        if topics is None:
            raise StackError("how much there is to land is not known while Kafka does not answer")
        ends = {topic: topics.ends[topic] for topic in topics.ends if topic in done}
        there = sum(ends.values())
        count = sum(sum(done[topic].values()) for topic in ends)
        at = time.monotonic()
        self.waits.see(at, there, count)
        return Landed(count, max(0, there - count), self.waits.seconds(at))


def read_lake(env: Env) -> list[Run]:
    """Return the last reconciliations, the latest first."""
    refuse_bucket(env)
    return read_runs(env["DELTA_ROOT"], RUNS)


def refuse_bucket(env: Env) -> None:
    """Say that a lake in a bucket is not looked into."""
    root = env["DELTA_ROOT"]
    if root.startswith(BUCKETS):
        raise StackError(f"the lake is in a bucket, and is not looked into from here: {root}")
