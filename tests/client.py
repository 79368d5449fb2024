"""What a user sees with psql, a Kafka client and an HTTP client, as short functions."""

import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from signal import Signals
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as KafkaMessage

from access.kafka import kafka_connection
from contract.events import ACCEPTED, EVENTS
from contract.names import DATABASE, INPUT_TOPIC, SUBSCRIBER

Found = TypeVar("Found")
TOPIC = INPUT_TOPIC
PRODUCER = {
    "enable.idempotence": True,
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "message.max.bytes": 1_048_588,
}

Headers = list[tuple[str, str | bytes | None]]


class Sent(NamedTuple):
    """One record to send, with its message id as header and the order id as key."""

    message_id: str | bytes | None
    key: str
    value: bytes | None
    headers: Headers = []  # noqa: RUF012 - never changed


class Landed(NamedTuple):
    """One event as a consumer receives it."""

    key: str
    value: bytes
    headers: dict[str, bytes]


def until(
    look: Callable[[], Found], done: Callable[[Found], bool], seconds: float, what: str
) -> Found:
    """Wait until this is true; at the deadline, fail with what was seen last."""
    deadline = time.monotonic() + seconds
    while not done(found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s: {what}; last seen: {found!r}")
        time.sleep(0.05)
    return found


class Parts(Protocol):
    """A stack whose parts can be stopped and started, by their names."""

    def stop(self, name: str, number: Signals | None = None) -> None:
        """Stop a part, by another signal than its usual one if need be."""

    def start(self, name: str) -> None:
        """Start a part and wait until it is ready."""


@contextmanager
def away(stack: Parts, name: str, number: Signals | None = None) -> Iterator[None]:
    """Stop a part for the time of a block, and start it again whatever the block finds."""
    stack.stop(name, number)
    try:
        yield
    finally:
        stack.start(name)


def fresh(prefix: str = "t") -> str:
    """Return an id that no other test uses."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def send(records: Sequence[Sent], topic: str = TOPIC) -> list[tuple[int, int]]:
    """Send the records in sequence; return the position of each, once all are acknowledged."""
    connection = kafka_connection(os.environ["KAFKA_BOOTSTRAP_SERVERS"])
    producer = Producer({**connection, **PRODUCER})
    places: dict[int, tuple[int, int]] = {}

    def acknowledged(n: int) -> Callable[[KafkaError | None, KafkaMessage], None]:
        def note(error: KafkaError | None, message: KafkaMessage) -> None:
            assert error is None, error
            places[n] = (message.partition() or 0, message.offset() or 0)

        return note

    for n, record in enumerate(records):
        own = [] if record.message_id is None else [("message_id", record.message_id)]
        headers = [*own, *record.headers]
        producer.produce(
            topic, record.value, record.key, headers=headers, on_delivery=acknowledged(n)
        )
        producer.poll(0)
    assert producer.flush(30) == 0
    return [places[n] for n in range(len(records))]


def send_in_transaction(values: dict[str, bytes], topic: str = TOPIC, *, commit: bool) -> None:
    """Send these values, each under its message id and key, and commit or abort them together."""
    own = {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "transactional.id": fresh("producer"),
    }
    producer = Producer(PRODUCER | own)
    producer.init_transactions(30)
    producer.begin_transaction()
    for message_id, value in values.items():
        producer.produce(topic, value, message_id, headers=[("message_id", message_id)])
    assert producer.flush(30) == 0
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def query(
    sql: str, *parameters: Any, database: str = DATABASE, role: str = "reconciler"
) -> list[Any]:
    """Return the rows of one statement, as a role that may read."""
    with connect(database, role) as connection:
        return connection.execute(sql.encode(), parameters).fetchall()


def connect(database: str = DATABASE, role: str = "reconciler") -> psycopg.Connection[Any]:
    """Connect as this role; its password comes from PGPASSFILE."""
    url = (
        os.environ["DATABASE_URL"]
        .replace("app@", f"{role}@")
        .replace(f"/{DATABASE}", f"/{database}")
    )
    return psycopg.connect(url, autocommit=True)


def committed(group: str = SUBSCRIBER, topic: str = TOPIC) -> dict[int, int]:
    """Return the offsets that the group has committed, by partition."""
    with reader(group) as consumer:
        found = consumer.committed([TopicPartition(topic, n) for n in range(3)], timeout=10)
    return {part.partition: max(0, part.offset) for part in found}


def ends(topic: str = TOPIC) -> dict[int, int]:
    """Return the end of each partition."""
    with reader() as consumer:
        return {
            n: (consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=10) or (0, 0))[1]
            for n in range(3)
        }


def has_leaders(topic: str, partitions: int) -> bool:
    """Return whether each partition of a new topic can be asked where it ends."""
    with reader() as consumer:
        try:
            for number in range(partitions):
                consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)
        except KafkaException:
            return False
    return True


def until_handled(seconds: float = 60, group: str = SUBSCRIBER, topic: str = TOPIC) -> None:
    """Wait until the group has committed everything that is on the topic."""
    until(
        lambda: (committed(group, topic), ends(topic)),
        lambda seen: seen[0] == seen[1],
        seconds,
        f"the group has not committed up to the end of {topic}",
    )


def events(
    topic: str, wanted: Callable[[Landed], bool], since: dict[int, int] | None = None
) -> list[Landed]:
    """Return the wanted events of a topic, from these offsets to its end of now."""
    found: list[Landed] = []
    with reader() as consumer:
        until_offset = ends(topic)
        start = since or {}
        parts = [
            TopicPartition(topic, n, start.get(n, 0))
            for n in range(3)
            if until_offset[n] > start.get(n, 0)
        ]
        consumer.assign(parts)
        left = {part.partition for part in parts}
        while left:
            message = consumer.poll(10)
            assert message is not None, (
                f"{topic}: nothing more within 10 s, partitions {left} not at their end"
            )
            assert message.error() is None, message.error()
            event = landed(message)
            if wanted(event):
                found.append(event)
            if (message.offset() or 0) + 1 >= until_offset[message.partition() or 0]:
                left.discard(message.partition() or 0)
    return found


def landed(message: KafkaMessage) -> Landed:
    """Return the record as text and bytes."""
    headers = dict(cast("list[tuple[str, bytes]]", message.headers() or []))
    return Landed((message.key() or b"").decode(), message.value() or b"", headers)


def of(message_id: str) -> Callable[[Landed], bool]:
    """Return a filter for events about this message."""
    return lambda event: json.loads(event.value).get("message_id") == message_id


def until_published(
    topic: str, wanted: Callable[[Landed], bool], count: int, seconds: float = 30
) -> list[Landed]:
    """Wait until this many wanted events are there; further copies of one do not count."""
    return until(
        lambda: events(topic, wanted),
        lambda found: len({event.headers["id"] for event in found}) >= count,
        seconds,
        f"{count} events on {topic}",
    )


PUBLISHED = """
    select payload->>'message_id' from outbox
    where payload->>'message_id' = any(%s) and event_type = any(%s)
"""


def counts(ids: Sequence[str]) -> dict[str, Counter[str]]:
    """Count how often each message id is in tracking, fulfillment, outbox and audit.

    In the outbox the events that decide are counted, and apart from them each event that follows.
    """
    wanted = list(ids)
    deciding = [event.event_type for event in EVENTS if event.outcome]
    further = [event.event_type for event in EVENTS if event.follows == ACCEPTED]
    of = {
        "tracking": query("select message_id from tracking where message_id = any(%s)", wanted),
        "fulfillment": query(
            "select message_id from fulfillment where message_id = any(%s)", wanted
        ),
        "outbox": query(PUBLISHED, wanted, deciding),
        **{event_type: query(PUBLISHED, wanted, [event_type]) for event_type in further},
        "audit_entry": query(
            "select message_id from audit_entry where message_id = any(%s)",
            wanted,
            database="audit",
        ),
        "audit_outbox": query(
            "select payload->>'message_id' from outbox where payload->>'message_id' = any(%s)",
            wanted,
            database="audit",
        ),
    }
    return {table: Counter(row[0] for row in rows) for table, rows in of.items()}


def exactly_one(ids: Sequence[str]) -> None:
    """Assert that each message has one row in every table: nothing lost, nothing doubled."""
    for table, counted in counts(ids).items():
        wrong = {key: counted[key] for key in ids if counted[key] != 1}
        examples = dict(list(wrong.items())[:5])
        assert not wrong, f"{table}: {len(wrong)} of {len(ids)} are not there once: {examples}"


@contextmanager
def reader(group: str = "tests") -> Iterator[Consumer]:
    """Return a consumer that is closed after use."""
    consumer = Consumer(
        {
            **kafka_connection(os.environ["KAFKA_BOOTSTRAP_SERVERS"]),
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()
