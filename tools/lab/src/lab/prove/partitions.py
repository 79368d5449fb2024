"""Where the partitions of a topic are, on a cluster that we read without a login, and with which consumer."""

from math import inf
from typing import NamedTuple

from confluent_kafka import KafkaException, TopicPartition

from ops.stack.supervisor import StackError
from ops.topic import reader

SECONDS = 10  # for one answer
PLAIN = (
    "brokers since Kafka 2.1 are read as plaintext without a login: for TLS or SASL, "
    "go through a plaintext listener or a tunnel"
)


class Place(NamedTuple):
    """A partition, the broker that leads it, and which offsets to read."""

    host: str
    port: int
    topic: str
    partition: int
    first: int
    end: int


def places(bootstrap: str, topic: str, newest: float = inf) -> list[Place]:
    """Where each partition is, and from which offset to which to read, the newest if so many are there."""
    consumer = reader(bootstrap)
    try:
        known = consumer.list_topics(topic, timeout=SECONDS)
        if error := known.topics[topic].error:
            raise StackError(f"{topic} at {bootstrap}: {error.str()}")
        found = []
        for number, partition in sorted(known.topics[topic].partitions.items()):
            low, high = consumer.get_watermark_offsets(
                TopicPartition(topic, number), timeout=SECONDS
            ) or (0, 0)
            leader = known.brokers[partition.leader]
            found.append(
                Place(leader.host, leader.port, topic, number, int(max(low, high - newest)), high)
            )
    except KafkaException as failure:
        raise StackError(f"{bootstrap} cannot be read ({failure.args[0].str()}); {PLAIN}") from None
    finally:
        consumer.close()
    return found
