"""A topic as it is now, read by a consumer that joins no group and commits nothing."""

import time
from collections.abc import Iterator
from datetime import datetime

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from access.kafka import kafka_connection
from access.kafka_login import find_reason, who_may_not_see
from ops.stack.supervisor import StackError

SECONDS = 30.0  # a broker that is silent for this long has nothing more
ANSWER_SECONDS = 3.0  # a broker that is there answers at once
# A partition that was just created, or that moves, has a leader again in a moment.
WITHOUT_LEADER = {KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION}
LEADER_PAUSE_SECONDS = 0.1


def refuse_without_topic(client: Producer | AdminClient, bootstrap: str, topic: str) -> None:
    """Raise an error with the way out when no broker answers, or when it has no such topic."""
    try:
        topics = client.list_topics(timeout=ANSWER_SECONDS).topics
    except KafkaException:
        reason = find_reason(bootstrap)
        if reason:
            raise StackError(f"{bootstrap}: {reason}") from None
        raise StackError(
            f"no broker answers at {bootstrap}: start the stack (pipeline up)"
        ) from None
    if topic not in topics:
        raise StackError(
            f"there is no topic {topic} at {bootstrap}: run python -m connect topics, "
            f"or set INPUT_TOPIC to the topic that is read{who_may_not_see()}"
        )


def reader(bootstrap: str, group: str = "pipeline-reader") -> Consumer:
    """Return a consumer for given partitions; its group is only asked for its offsets."""
    return Consumer(
        {
            **kafka_connection(bootstrap),
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,  # it learns where each partition ends
            "log_level": 0,
        }
    )


def spans(consumer: Consumer, topic: str, seconds: float = SECONDS) -> dict[int, range]:
    """Return the offsets that each partition has."""
    metadata = consumer.list_topics(topic, timeout=seconds)
    found = {}
    for number in metadata.topics[topic].partitions:
        found[number] = span_of(consumer, TopicPartition(topic, number), seconds)
    return found


def span_of(consumer: Consumer, partition: TopicPartition, seconds: float = SECONDS) -> range:
    """Return the offsets that a partition has, once it has a leader."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            watermarks = consumer.get_watermark_offsets(partition, seconds)
        except KafkaException as failure:
            has_no_leader = failure.args[0].code() in WITHOUT_LEADER
            if not has_no_leader or time.monotonic() > deadline:
                raise
        else:
            if watermarks is None:
                raise StackError(f"{partition.topic}: the broker is silent for {seconds} s")
            return range(*watermarks)
        time.sleep(LEADER_PAUSE_SECONDS)
        consumer.list_topics(partition.topic, timeout=seconds)  # asks anew who leads


def read(bootstrap: str, topic: str, since: datetime | None = None) -> Iterator[Message]:
    """Yield every record, or those from a time on, to the last that is there now."""
    with reader(bootstrap) as consumer:
        starts = []
        for number, span in spans(consumer, topic).items():
            if span:
                starts.append(TopicPartition(topic, number, span.start))
        if since and starts:
            starts = starts_since(consumer, starts, since)
        consumer.assign(starts)
        unfinished = {start.partition for start in starts}
        while unfinished:
            message = consumer.poll(SECONDS)
            if message is None:
                raise StackError(
                    f"{topic}: nothing more within {SECONDS} s, "
                    f"partitions {unfinished} are not at their end"
                )
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard(message.partition() or 0)
            else:
                raise KafkaException(error)


def starts_since(
    consumer: Consumer, starts: list[TopicPartition], since: datetime
) -> list[TopicPartition]:
    """Return where each partition has its first record of this time or later, if it has one."""
    milliseconds = int(since.timestamp() * 1000)
    asked = [TopicPartition(each.topic, each.partition, milliseconds) for each in starts]
    found = consumer.offsets_for_times(asked, SECONDS)
    return [each for each in found if each.offset >= 0]
