"""A topic as it lies there now, looked at by a consumer that joins no group and commits nothing."""

from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ops.stack.supervisor import StackError

SECONDS = 30.0  # a broker that says nothing for so long has nothing


def reader(bootstrap: str, group: str = "pipeline-reader") -> Consumer:
    """One that is told what to read, and where each partition ends; a group is only asked for its offsets."""
    own = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    return Consumer(
        {"bootstrap.servers": bootstrap, "enable.partition.eof": True, "log_level": 0, **own}
    )


def spans(consumer: Consumer, topic: str, seconds: float = SECONDS) -> dict[int, range]:
    """The offsets that each partition holds."""
    known = consumer.list_topics(topic, timeout=seconds).topics[topic].partitions
    return {
        n: range(*(consumer.get_watermark_offsets(TopicPartition(topic, n), seconds) or ()))
        for n in known
    }


def read(bootstrap: str, topic: str) -> Iterator[Message]:
    """Every record, from the first to the last that is there now."""
    with reader(bootstrap) as consumer:
        held = {number: span for number, span in spans(consumer, topic).items() if span}
        consumer.assign(
            [TopicPartition(topic, number, span.start) for number, span in held.items()]
        )
        left = set(held)
        while left:
            if not (message := consumer.poll(SECONDS)):
                raise StackError(
                    f"{topic}: nothing more within {SECONDS} s, partitions {left} are not at their end"
                )
            if not (error := message.error()):
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition() or 0)
            else:
                raise KafkaException(error)
