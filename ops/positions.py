"""How far the service and the landing are, read where they write it down themselves."""

import json
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition

from ops.topic import reader, spans

TIMEOUT = 5.0

Ends = dict[str, dict[str, int]]  # by topic and partition


def lag(env: Mapping[str, str]) -> dict[int, int]:
    """Return how many records of each partition the service has not committed yet.

    Raise a KafkaException if no broker answers.
    """
    topic = env["INPUT_TOPIC"]
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"]) as consumer:
        held = spans(consumer, topic, TIMEOUT)
        partitions = [TopicPartition(topic, number) for number in held]
        lags = {}
        for committed in consumer.committed(partitions, timeout=TIMEOUT):
            span = held[committed.partition]
            position = max(committed.offset, span.start)
            lags[committed.partition] = span.stop - position
        return lags


def try_lag(env: Mapping[str, str]) -> dict[int, int] | None:
    """Return the same, or None if no broker answers."""
    try:
        return lag(env)
    except KafkaException:
        return None


def landed(env: Mapping[str, str]) -> Ends:
    """Return each partition's end offset in the newest batch that the landing has committed."""
    checkpoint = Path(env["DELTA_ROOT"], "checkpoint")
    commits = (checkpoint / "commits").glob("*")
    batches = [int(file.name) for file in commits if file.name.isdigit()]
    if not batches:
        return {}
    newest = checkpoint / "offsets" / str(max(batches))
    last_line = newest.read_text().splitlines()[-1]
    ends: Ends = json.loads(last_line)
    return ends
