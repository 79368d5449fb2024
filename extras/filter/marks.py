"""The marks of partitions that are taken over, read from the compacted topic that keeps them."""

import json
import time
from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # exported without a type

from access.kafka import kafka_connection
from service.outage import OutageError

ANSWER_SECONDS = 10.0


def mark_value(number: int, offset: int) -> bytes:
    """Return a mark as it is kept; the offset tells people which record has raised it."""
    return json.dumps({"number": number, "offset": offset}).encode()


def read_marks(
    kafka: Mapping[str, str | int | bool],
    topic: str,
    partitions: Iterable[int],
    patience_seconds: float,
) -> dict[int, int]:
    """Return the mark of each partition that has one.

    A killed owner may have left a transaction open. Behind it, nothing that others have committed
    can be read until the broker aborts it: so this waits until everything can be read.
    """
    marks: dict[int, int] = {}
    own = {"group.id": f"{kafka['group.id']}-marks", "enable.partition.eof": True}
    deadline = time.monotonic() + patience_seconds
    # check: ignore[consumer-not-seen] the settings of the filter's own consumer, and these two
    with Consumer({**kafka, **own}) as consumer:
        for partition in partitions:
            place = TopicPartition(topic, partition, 0)
            end = end_of(kafka, place)
            consumer.assign([place])
            for value in read_up_to(consumer, place, end, deadline):
                marks[partition] = json.loads(value)["number"]
    return marks


def end_of(kafka: Mapping[str, str | int | bool], place: TopicPartition) -> int:
    """Return where a partition ends, open transactions included."""
    admin = AdminClient(kafka_connection(str(kafka["bootstrap.servers"])))
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(place.topic, place.partition): latest}
    [answer] = admin.list_offsets(
        asked,
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=ANSWER_SECONDS,
    ).values()
    end: int = answer.result(ANSWER_SECONDS).offset
    return end


def read_up_to(
    consumer: Consumer, place: TopicPartition, end: int, deadline: float
) -> Iterable[bytes]:
    """Yield the value of every committed record before this end."""
    position = 0
    while position < end:
        if time.monotonic() > deadline:
            raise OutageError(f"{place.topic}/{place.partition}: at {position} of {end}")
        message = consumer.poll(0.1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            yield message.value() or b"{}"
        elif error.code() == KafkaError._PARTITION_EOF:
            position = message.offset() or 0
        else:
            raise KafkaException(error)
