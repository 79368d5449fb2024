"""Kafka positions: what a topic holds, what the service has handled, how far landing has come.

Settled means positions, not clocks: what is below them will not change any more.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # exported without a type

from access.kafka import kafka_connection
from access.kafka_admin import wait_for
from access.kafka_login import find_reason, who_may_not_see
from spark.session import exit_with_error
from spark.settings import Settings

EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
BROKER_TIMEOUT_SECONDS = 30  # a broker that has not answered by then is down
WITHOUT_LEADER = {KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION}
LEADER_PAUSE_SECONDS = 0.1
READ_SECONDS = 10  # a record that has not come by then will not

Position = tuple[str, int]  # topic and partition
Found = TypeVar("Found")


def refuse_without_login(settings: Settings) -> None:
    """End the job if no broker would ever let us in."""
    reason = find_reason(settings.kafka_bootstrap_servers)
    if reason:
        exit_with_error(f"{settings.kafka_bootstrap_servers}: {reason}")


def partitions_of(admin: AdminClient, topics: Iterable[str]) -> list[Position]:
    """Return every partition of these topics; end the job if one of them does not exist."""
    try:
        existing = admin.list_topics(timeout=BROKER_TIMEOUT_SECONDS).topics
    except KafkaException as error:
        reason = error.args[0].str()
        exit_with_error(f"KAFKA_BOOTSTRAP_SERVERS: no broker answers ({reason})")
    missing = set(topics) - set(existing)
    if missing:
        names = ", ".join(sorted(missing))
        exit_with_error(
            f"no topic {names}: make the topics first, as connect/README.md says{who_may_not_see()}"
        )
    positions = []
    for topic in topics:
        partitions = existing[topic].partitions
        positions += [(topic, partition) for partition in partitions]
    return positions


def offsets_at(
    admin: AdminClient, partitions: Iterable[Position], at: OffsetSpec
) -> dict[Position, int]:
    """Return the first or the end offset of each partition, as seen by a read-committed reader.

    A partition that was just created, or that moves, has no leader for a moment.
    """
    asked = list(partitions)
    deadline = time.monotonic() + BROKER_TIMEOUT_SECONDS
    while True:
        try:
            return ask_for_offsets(admin, asked, at)
        except KafkaException as failure:
            has_no_leader = failure.args[0].code() in WITHOUT_LEADER
            if not has_no_leader or time.monotonic() > deadline:
                raise
        time.sleep(LEADER_PAUSE_SECONDS)


def ask_for_offsets(
    admin: AdminClient, partitions: Iterable[Position], at: OffsetSpec
) -> dict[Position, int]:
    """Ask the brokers once."""
    request = {TopicPartition(*position): at for position in partitions}
    committed_only = IsolationLevel.READ_COMMITTED
    answers = admin.list_offsets(request, isolation_level=committed_only)
    offsets = {}
    for partition, answer in answers.items():
        position = (partition.topic, partition.partition)
        found = wait_for(answer, BROKER_TIMEOUT_SECONDS)
        offsets[position] = found.offset
    return offsets


def committed_offsets(admin: AdminClient, group: str, topic: str) -> dict[int, int]:
    """Return, for each partition, the offset below which the group has handled everything."""
    request = [ConsumerGroupTopicPartitions(group)]
    answers = admin.list_consumer_group_offsets(request)
    answer = wait_for(answers[group], BROKER_TIMEOUT_SECONDS)
    committed = {}
    for position in answer.topic_partitions:
        is_of_topic = position.topic == topic
        has_committed = position.offset > 0
        if is_of_topic and has_committed:
            committed[position.partition] = position.offset
    return committed


def current_offsets(
    admin: AdminClient, partitions: list[Position], last: str
) -> dict[Position, range]:
    """Return the offsets that each partition holds.

    One topic's ends are asked for last: all that has followed from its records is then below.
    """
    begins = offsets_at(admin, partitions, EARLIEST)
    ends = offsets_at(admin, partitions, LATEST)
    asked_last = []
    for topic, partition in partitions:
        if topic == last:
            asked_last.append((topic, partition))
    ends |= offsets_at(admin, asked_last, LATEST)
    offsets = {}
    for position in partitions:
        begin = begins[position]
        end = ends[position]
        offsets[position] = range(begin, end)
    return offsets


def rename(offsets: Mapping[Position, Found], names: Mapping[str, str]) -> dict[Position, Found]:
    """Return the same by other names of the topics."""
    return {(names.get(topic, topic), number): found for (topic, number), found in offsets.items()}


def in_kafka(offsets: Mapping[Position, Found]) -> dict[Position, Found]:
    """Return the same by Kafka's names: rows of a topic that was created again are topic@id."""
    return {(kafka_topic(name), number): found for (name, number), found in offsets.items()}


def kafka_topic(name: str) -> str:
    """Return Kafka's name of the topic whose rows are called so."""
    topic, _, _topic_id = name.partition("@")
    return topic


def starting_offsets(start: Mapping[Position, int]) -> str:
    """Return Spark's JSON for the offset at which each partition begins."""
    offsets: dict[str, dict[int, int]] = defaultdict(dict)
    for (topic, partition), first in start.items():
        offsets[topic][partition] = first
    return json.dumps(offsets)


def not_landed(
    landed: Mapping[Position, range], current: Mapping[Position, range]
) -> dict[Position, range]:
    """Return the offsets of each partition that have still to land."""
    left = {}
    for position, offsets in current.items():
        reached = offsets.start
        if position in landed:
            reached = landed[position].stop
        if reached < offsets.stop:
            left[position] = range(reached, offsets.stop)
    return left


def landing_behind(left: Mapping[Position, range]) -> str:
    """Return a sentence if offsets have still to land, and else nothing."""
    for (topic, partition), offsets in left.items():
        progress = f"{topic}/{partition} has landed up to {offsets.start} of {offsets.stop}"
        return f"{progress}: is land running?"
    return ""


def written_at(bootstrap_servers: str, waiting: Mapping[Position, range]) -> str | None:
    """Return when the oldest of the first records was written, if they can be read."""
    settings = {
        **kafka_connection(bootstrap_servers),
        "group.id": "reconcile",  # a client must name one; it joins none and commits nothing
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    milliseconds: dict[Position, int] = {}
    deadline = time.monotonic() + READ_SECONDS
    with Consumer(settings) as consumer:
        firsts = [TopicPartition(*at, offsets.start) for at, offsets in waiting.items()]
        consumer.assign(firsts)
        while len(milliseconds) < len(firsts) and time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                position = (message.topic() or "", message.partition() or 0)
                _, written = message.timestamp()
                milliseconds.setdefault(position, written)
    if not milliseconds:
        return None
    oldest = datetime.fromtimestamp(min(milliseconds.values()) // 1000, UTC)
    return oldest.strftime("%Y-%m-%d %H:%M:%S")
