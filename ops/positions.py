"""How far the service and the landing have come, read where they write it down themselves."""

import json
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ops.produce import TOPIC

TIMEOUT = 5.0


def lag(env: Mapping[str, str]) -> dict[int, int]:
    """Records of each partition that the service has not committed yet; KafkaException if nobody answers."""
    consumer = Consumer(
        {
            "bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"],
            "group.id": env["GROUP_ID"],  # only asked for its offsets, never joined
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
    try:
        known = consumer.list_topics(TOPIC, timeout=TIMEOUT).topics[TOPIC].partitions
        found = consumer.committed([TopicPartition(TOPIC, p) for p in known], timeout=TIMEOUT)
        lags = {}
        for at in found:
            first, end = consumer.get_watermark_offsets(at, timeout=TIMEOUT)
            lags[at.partition] = end - max(at.offset, first)
        return lags
    finally:
        consumer.close()


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
