"""How a replay reads a topic: in no group, committing nothing, and never without an end."""

import time
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from extras.aggregator.group import Partition
from service.consumer import to_record
from service.outage import AbandonedError, OutageError
from service.record import Record

SILENCE_SECONDS = 10.0  # a broker that says nothing for this long is away
RECORDS_AT_ONCE = 500
WINDOW_SECONDS = 0.1


def read_between(
    kafka: dict[str, str | int | bool],
    is_stopping: Callable[[], bool],
    partition: Partition,
    start: int,
    stop: int,
) -> Iterator[list[Record]]:
    """Give the records of a partition from `start`, or the first that is left, to before `stop`."""
    own = {"group.id": f"{kafka['group.id']}-replay", "enable.partition.eof": True}
    # check: ignore[consumer-not-seen] the live consumer's settings, judged there, and these two
    with Consumer(kafka | own) as consumer:
        first = first_offset(consumer, partition, stop)
        position = max(start, first)
        if position < stop:
            consumer.assign([TopicPartition(*partition, position)])
        deadline = time.monotonic() + SILENCE_SECONDS
        while position < stop:
            messages = consumer.consume(RECORDS_AT_ONCE, WINDOW_SECONDS)
            records, is_at_end = split_messages(messages)
            yield [record for record in records if record.offset < stop]
            if is_at_end:
                position = stop
            elif records:
                position = records[-1].offset + 1
            if is_stopping():
                raise AbandonedError("stopping")
            if records:
                deadline = time.monotonic() + SILENCE_SECONDS
            elif time.monotonic() > deadline:
                topic, number = partition
                silence = f"nothing came within {SILENCE_SECONDS:g} s"
                raise OutageError(f"{topic}/{number}: {silence}, at {position} of {stop}")


def first_offset(consumer: Consumer, partition: Partition, stop: int) -> int:
    """Return the first offset that is left; the last must be there, or not be away for good."""
    asked = TopicPartition(*partition)
    found = consumer.get_watermark_offsets(asked, timeout=SILENCE_SECONDS)
    low, high = found or (0, 0)
    if high < stop:
        topic, number = partition
        raise OutageError(f"{topic}/{number} ends at {high}, but the live consumer is at {stop}")
    return low


def split_messages(messages: list[Message]) -> tuple[list[Record], bool]:
    """Return the records, and whether the end of the partition came with them."""
    is_at_end = False
    records = []
    for message in messages:
        error = message.error()
        if error is None:
            records.append(to_record(message))
        elif error.code() == KafkaError._PARTITION_EOF:
            is_at_end = True
        else:
            raise OutageError(f"replay: {error.str()}")
    return records, is_at_end
