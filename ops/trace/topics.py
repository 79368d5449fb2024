"""Where a record is on its topic, found without reading the topic from its beginning."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ops.settings import Env
from ops.topic import reader, span_of, spans, starts_since
from ops.trace.databases import Position
from spark.kafka.positions import kafka_topic

SECONDS = 5.0  # for one answer of the broker
SCAN_SECONDS = 3.0  # for a look through many records
# Looked for from the time of its row on; then from earlier, because the clocks of Postgres and of
# Connect may differ by that much.
EARLIER = (timedelta(0), timedelta(minutes=1))


class Record(NamedTuple):
    """A record on a topic."""

    position: Position
    at: datetime


class Look(NamedTuple):
    """What a look for a record has found."""

    record: Record | None
    where: str  # where it was looked for, in words
    is_complete: bool = True  # nothing is left to look through


def look_at(env: Env, position: Position, message_id: str | None = None) -> Look:
    """Look at one position, where this message should be if it is known which."""
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"]) as consumer:
        topic = kafka_topic(position.topic)
        partition = TopicPartition(topic, position.partition, position.offset)
        held = span_of(consumer, partition, SECONDS)
        if position.offset < held.start:
            return Look(None, f"Kafka has deleted it: the partition begins at {held.start:,}")
        consumer.assign([partition])
        for message in messages(consumer, 1, time.monotonic() + SECONDS):
            if message.offset() != position.offset:
                break
            if message_id and header_of(message, "message_id") != message_id.encode():
                return Look(None, "another message is there: the topic was created again")
            return Look(as_record(message), "")
    return Look(None, f"the partition ends at {held.stop:,}")


def look_for_event(env: Env, topic: str, event_id: str, since: datetime) -> Look:
    """Look for an event from the time of its row on, and then from shortly before."""
    wanted = event_id.encode()

    def is_event(message: Message) -> bool:
        return header_of(message, "id") == wanted

    with reader(env["KAFKA_BOOTSTRAP_SERVERS"]) as consumer:
        held = spans(consumer, topic, SECONDS)
        partitions = [
            TopicPartition(topic, number, span.start) for number, span in held.items() if span
        ]
        for earlier in EARLIER:
            starts = starts_since(consumer, partitions, since - earlier) if partitions else []
            look = look_through(consumer, starts, is_event)
            if look.record:
                return look
    return look


def look_for_waiting(env: Env, wanted: str) -> Look:
    """Look for an order or a message behind what the service has committed."""
    topic = env["INPUT_TOPIC"]
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"]) as consumer:
        held = spans(consumer, topic, SECONDS)
        asked = [TopicPartition(topic, number) for number in held]
        starts = []
        for committed in consumer.committed(asked, timeout=SECONDS):
            span = held[committed.partition]
            start = max(committed.offset, span.start)
            if start < span.stop:
                starts.append(TopicPartition(topic, committed.partition, start))
        name = wanted.encode()

        def is_meant(message: Message) -> bool:
            return name in (message.key(), header_of(message, "message_id"))

        return look_through(consumer, starts, is_meant)


def header_of(message: Message, name: str) -> str | bytes | None:
    """Return the value of a header."""
    headers = dict(message.headers() or [])
    return headers.get(name)


def look_through(
    consumer: Consumer,
    starts: Sequence[TopicPartition],
    is_wanted: Callable[[Message], bool],
) -> Look:
    """Look through partitions for a record, from where they start."""
    consumer.assign(list(starts))
    deadline = time.monotonic() + SCAN_SECONDS
    count = 0
    for message in messages(consumer, len(starts), deadline):
        count += 1
        if is_wanted(message):
            return Look(as_record(message), "")
    is_complete = time.monotonic() < deadline
    where = f"not among {count:,} records"
    return Look(None, where if is_complete else f"{where}, and there are more", is_complete)


def messages(consumer: Consumer, partitions: int, deadline: float) -> Iterator[Message]:
    """Yield what assigned partitions hold, up to their ends or to the deadline."""
    unfinished = partitions
    while unfinished:
        left = deadline - time.monotonic()
        message = consumer.poll(left) if left > 0 else None
        if message is None:
            return
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            unfinished -= 1
        else:
            raise KafkaException(error)


def as_record(message: Message) -> Record:
    """Return where a record is, and its time."""
    _, milliseconds = message.timestamp()
    position = Position(message.topic() or "", message.partition() or 0, message.offset() or 0)
    return Record(position, datetime.fromtimestamp(milliseconds / 1000, UTC))
