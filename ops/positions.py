"""How far the service and the landing are, read where they write it down themselves."""

import json
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition

from ops.settings import Env
from ops.topic import reader, spans

TIMEOUT = 5.0

Lags = dict[int, int]  # by partition
Ends = dict[str, dict[str, int]]  # by topic and partition


def lag(env: Env) -> Lags:
    """Return how many records of each partition the service has not committed yet.

    Raise a KafkaException if no broker answers.
    """
    topic = env["INPUT_TOPIC"]
    bootstrap = env["KAFKA_BOOTSTRAP_SERVERS"]
    group = env["GROUP_ID"]
    with reader(bootstrap, group) as consumer:
        held = spans(consumer, topic, TIMEOUT)
        partitions = [TopicPartition(topic, number) for number in held]
        lags = {}
        for committed in consumer.committed(partitions, timeout=TIMEOUT):
            number = committed.partition
            span = held[number]
            position = max(committed.offset, span.start)
            lags[number] = span.stop - position
        return lags


def try_lag(env: Env) -> Lags | None:
    """Return the same, or None if no broker answers."""
    try:
        return lag(env)
    except KafkaException:
        return None


def landed(env: Env) -> Ends:
    """Return each partition's end offset in the newest batch that the landing has committed."""
    checkpoint = Path(env["DELTA_ROOT"], "checkpoint")
    commits = checkpoint / "commits"
    names = [file.name for file in commits.glob("*")]
    batches = [int(name) for name in names if name.isdigit()]
    if not batches:
        return {}
    newest = str(max(batches))
    offsets = checkpoint / "offsets" / newest
    text = offsets.read_text()
    *_, last_line = text.splitlines()
    ends: Ends = json.loads(last_line)
    return ends
