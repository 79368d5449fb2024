"""What lies on the topics: every record from the first to the last, and whose message it is."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from confluent_kafka import Consumer, Message, TopicPartition

from ops.produce import TOPIC

EVENTS = "fulfillment.events"
Headers = list[tuple[str, bytes]]
SECONDS = 30  # a broker that says nothing for so long has nothing


def of_header(record: Message) -> str:
    """The message id of an order."""
    return bytes(dict(cast("Headers", record.headers()))["message_id"]).decode()


def of_value(record: Message) -> str:
    """The message id of an event."""
    return str(json.loads(record.value() or b"")["message_id"])


def read(env: Mapping[str, str], topic: str) -> Iterator[Message]:
    """Everything that is on a topic now."""
    with look(env, "ladder-count") as consumer:
        ends = dict(spans(consumer, topic))
        consumer.assign([TopicPartition(topic, number, span.start) for number, span in ends.items() if span])
        left = {number for number, span in ends.items() if span}
        while left:
            record = consumer.poll(SECONDS)
            assert record, f"{topic}: partitions {left} are not at their end, and nothing comes"
            assert not record.error(), f"{topic}: {record.error()}"
            yield record
            if (record.offset() or 0) + 1 >= ends[number := record.partition() or 0].stop:
                left.discard(number)


def spans(consumer: Consumer, topic: str) -> Iterator[tuple[int, range]]:
    """The offsets that each partition holds."""
    for number in consumer.list_topics(topic, timeout=SECONDS).topics[topic].partitions:
        yield number, range(*(consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=SECONDS) or ()))


def look(env: Mapping[str, str], group: str) -> Consumer:
    """A consumer that joins no group."""
    named = {"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"], "group.id": group, "log_level": 0}
    return Consumer({**named, "enable.auto.commit": False})


def handled(consumer: Consumer) -> Callable[[], bool]:
    """Whether the group has committed every order that is on the topic now."""
    ends = [TopicPartition(TOPIC, number, span.stop) for number, span in spans(consumer, TOPIC) if span]
    return lambda: all(
        at.offset >= end.offset for at, end in zip(consumer.committed(list(ends), SECONDS), ends, strict=True)
    )
