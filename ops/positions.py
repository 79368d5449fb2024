"""How far the service and the landing have come, read where they write it down themselves."""

import json
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition

from ops.produce import TOPIC
from ops.topic import reader, spans

TIMEOUT = 5.0


def lag(env: Mapping[str, str]) -> dict[int, int]:
    """Records of each partition that the service has not committed yet; KafkaException if nobody answers."""
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"]) as consumer:
        held = spans(consumer, TOPIC, TIMEOUT)
        found = consumer.committed(
            [TopicPartition(TOPIC, number) for number in held], timeout=TIMEOUT
        )
        return {
            at.partition: held[at.partition].stop - max(at.offset, held[at.partition].start)
            for at in found
        }


def try_lag(env: Mapping[str, str]) -> dict[int, int] | None:
    """The same, or nothing where nobody answers."""
    try:
        return lag(env)
    except KafkaException:
        return None


def landed(env: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """The end offset of each topic's partitions in the newest batch that the landing has committed."""
    checkpoint = Path(env["DELTA_ROOT"]) / "checkpoint"
    batches = [int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdigit()]
    if not batches:
        return {}
    offsets = (checkpoint / "offsets" / str(max(batches))).read_text().splitlines()
    ends: dict[str, dict[str, int]] = json.loads(offsets[-1])
    return ends
