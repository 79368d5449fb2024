"""How many offsets a batch may have so that it also stays below a number of bytes.

Spark's Kafka source knows offsets alone. So records are looked at here and there in what waits, and
the partition with the largest ones on average decides for all.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from access.kafka import kafka_connection
from spark.kafka.positions import Position
from spark.settings import Settings

PLACES = 5  # in each partition, evenly apart
AT_ONCE = 100  # records, of all partitions together
READ_SECONDS = 30  # at each place, until every partition has answered

Headers = list[tuple[str, bytes | None]]


def offsets_in_a_batch(settings: Settings, waiting: Mapping[Position, range]) -> int:
    """Return the most offsets that one batch may have."""
    sizes = sample_sizes(settings.kafka_bootstrap_servers, waiting)
    if not sizes:
        return settings.land_max_offsets
    averages = [sum(some) / len(some) for some in sizes.values()]
    largest = max(1, *averages)
    within_bytes = int(settings.land_max_bytes / largest)
    return max(1, min(settings.land_max_offsets, within_bytes))


def sample_sizes(
    bootstrap_servers: str, waiting: Mapping[Position, range]
) -> dict[Position, list[int]]:
    """Return the sizes of some records of each partition in which some wait."""
    settings = {
        **kafka_connection(bootstrap_servers),
        "group.id": "land",  # a client must name one; it joins none and commits nothing
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,  # some offsets hold no record, and none may follow
        "fetch.message.max.bytes": 65_536,  # one record, or a few
        "queued.min.messages": 1,
        "fetch.wait.max.ms": 10,  # a fetch that has found nothing keeps the next place waiting
        "fetch.queue.backoff.ms": 10,  # by default it looks away for a second after each fetch
    }
    sizes = defaultdict(list)
    with Consumer(settings) as consumer:
        for place in range(PLACES):
            starts = []
            for position, offsets in waiting.items():
                if offsets:
                    start = offsets[place * len(offsets) // PLACES]
                    starts.append(TopicPartition(*position, start))
            for position, size in read_some(consumer, starts):
                sizes[position].append(size)
    return sizes


def read_some(consumer: Consumer, starts: list[TopicPartition]) -> Iterator[tuple[Position, int]]:
    """Yield position and size of the first records behind each start."""
    consumer.assign(starts)
    silent = {(start.topic, start.partition): start for start in starts}
    deadline = time.monotonic() + READ_SECONDS
    while silent:
        if time.monotonic() > deadline:
            raise KafkaException(f"no record of {sorted(silent)} within {READ_SECONDS} s")
        heard = []
        for message in consumer.consume(AT_ONCE, timeout=0.1):
            position = (message.topic() or "", message.partition() or 0)
            if position in silent:
                heard.append(silent.pop(position))
            if holds_record(message):
                yield position, size_of(message)
        # All that follows in them would come first, before the records of the others.
        consumer.incremental_unassign(heard)


def holds_record(message: Message) -> bool:
    """Return whether it is a record, not the end of a partition; raise any other error."""
    error = message.error()
    if error is None:
        return True
    if error.code() == KafkaError._PARTITION_EOF:
        return False
    raise KafkaException(error)


def size_of(record: Message) -> int:
    """Return the bytes of a record's value, key and headers."""
    size = len(record.value() or b"") + len(record.key() or b"")
    headers = cast("Headers", record.headers() or [])
    for name, value in headers:
        size += len(name) + len(value or b"")
    return size
