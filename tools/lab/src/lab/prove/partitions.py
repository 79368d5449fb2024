"""Where the partitions of a topic are, on a cluster that is read without a login."""

from math import inf
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ops.stack.supervisor import StackError
from ops.topic import reader, span_of

SECONDS = 10  # for one answer
PLAINTEXT_ONLY = (
    "brokers since Kafka 2.1 are read as plaintext without a login: for TLS or SASL, "
    "go through a plaintext listener or a tunnel"
)


class PartitionSpan(NamedTuple):
    """A partition, the broker that leads it, and which offsets to read."""

    host: str
    port: int
    topic: str
    partition: int
    first: int
    end: int


def find_spans(bootstrap: str, topic: str, newest: float = inf) -> list[PartitionSpan]:
    """Return the newest offsets of each partition, this many or all there are."""
    consumer = reader(bootstrap)
    try:
        return read_spans(consumer, bootstrap, topic, newest)
    except KafkaException as failure:
        reason = failure.args[0].str()
        raise StackError(f"{bootstrap} cannot be read ({reason}); {PLAINTEXT_ONLY}") from None
    finally:
        consumer.close()


def read_spans(
    consumer: Consumer,
    bootstrap: str,
    topic: str,
    newest: float,
) -> list[PartitionSpan]:
    """Ask the cluster for the partitions and their offsets."""
    cluster = consumer.list_topics(topic, timeout=SECONDS)
    metadata = cluster.topics[topic]
    if metadata.error:
        raise StackError(f"{topic} at {bootstrap}: {metadata.error.str()}")
    spans = []
    for number, partition in sorted(metadata.partitions.items()):
        asked = TopicPartition(topic, number)
        there = span_of(consumer, asked, SECONDS)
        leader = cluster.brokers[partition.leader]
        first = int(max(there.start, there.stop - newest))
        spans.append(PartitionSpan(leader.host, leader.port, topic, number, first, there.stop))
    return spans
