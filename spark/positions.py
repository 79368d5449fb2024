"""Where Kafka stands; and settled means positions, not clocks: everything below them has come as far as it will."""

import json
import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # exported without a type

from spark.session import give_up

EARLIEST, LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]

Position = tuple[str, int]  # topic and partition


def partitions(admin: AdminClient, topics: Iterable[str]) -> list[Position]:
    """Every partition of these topics."""
    try:
        known = admin.list_topics(
            timeout=30
        ).topics  # a broker that has not answered by then is down
    except KafkaException as error:
        give_up(f"KAFKA_BOOTSTRAP_SERVERS: no broker answers ({error.args[0].str()})")
    if missing := sorted(set(topics) - set(known)):
        give_up(f"no topic {', '.join(missing)}: make the topics first, as connect/README.md says")
    return [(topic, partition) for topic in topics for partition in known[topic].partitions]


def offsets(admin: AdminClient, wanted: Iterable[Position], at: OffsetSpec) -> dict[Position, int]:
    """The first or the end offset of each partition, as a reader of committed records sees it."""
    request = {TopicPartition(topic, partition): at for topic, partition in wanted}
    answers = admin.list_offsets(request, isolation_level=IsolationLevel.READ_COMMITTED)
    return {(of.topic, of.partition): answer.result().offset for of, answer in answers.items()}


def committed(admin: AdminClient, group: str, topic: str) -> dict[int, int]:
    """What the group has handled of each partition: everything below this offset."""
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[
        group
    ].result()
    return {
        at.partition: at.offset
        for at in answer.topic_partitions
        if at.topic == topic and at.offset > 0
    }


def offsets_now(admin: AdminClient, wanted: list[Position], last: str) -> dict[Position, range]:
    """What each topic holds. One topic's ends are asked last: whatever follows from it then lies below."""
    begins = offsets(admin, wanted, EARLIEST)
    ends = offsets(admin, wanted, LATEST) | offsets(
        admin, [at for at in wanted if at[0] == last], LATEST
    )
    return {at: range(begins[at], ends[at]) for at in wanted}


def starting_offsets(wanted: Iterable[Position], landed: Mapping[Position, range]) -> str:
    """Spark's JSON for: go on behind what has landed, partition by partition, and else at the beginning."""
    offsets: dict[str, dict[int, int]] = {}
    for at in wanted:
        offsets.setdefault(at[0], {})[at[1]] = (
            landed[at].stop if at in landed else -2
        )  # for Spark, the beginning
    return json.dumps(offsets)


def landing_behind(landed: Mapping[Position, range], there: Mapping[Position, range]) -> str:
    """A sentence while a partition has not landed up to its end."""
    for (topic, partition), kept in there.items():
        if (reached := landed.get((topic, partition), kept[:0]).stop) < kept.stop:
            return (
                f"{topic}/{partition} has landed up to {reached} of {kept.stop}: is land running?"
            )
    return ""


def wait(deadline: float, behind: Callable[[], str]) -> None:
    """Look until nothing is behind any more; at the deadline, end with what was."""
    while sentence := behind():
        if time.monotonic() > deadline:
            give_up(f"not settled: {sentence}")
        time.sleep(0.5)
