"""Where Kafka stands: partitions, first and end offsets, and what a group has committed."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka import admin as kafka
from confluent_kafka.admin import AdminClient

from spark.landing import EARLIEST, LATEST, Position
from spark.session import give_up

OFFSET_SPEC: Any = kafka.OffsetSpec  # type: ignore[attr-defined]  # documented there, exported without a type
TIMEOUT = 30.0  # a broker that has not answered by then is down


def partitions(admin: AdminClient, topics: Iterable[str]) -> list[Position]:
    """Every partition of these topics."""
    try:
        known = admin.list_topics(timeout=TIMEOUT).topics
    except KafkaException as error:
        give_up(f"KAFKA_BOOTSTRAP_SERVERS: no broker answers ({error.args[0].str()})")
    if missing := sorted(set(topics) - set(known)):
        give_up(f"no topic {', '.join(missing)}: make the topics first (python -m connect topics)")
    return [(topic, partition) for topic in topics for partition in known[topic].partitions]


def offsets(admin: AdminClient, wanted: Iterable[Position], at: int) -> dict[Position, int]:
    """The first or the end offset of each partition, as a reader of committed records sees it."""
    request = {TopicPartition(topic, partition): OFFSET_SPEC(at) for topic, partition in wanted}
    answers = admin.list_offsets(request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT)
    return {(of.topic, of.partition): answer.result().offset for of, answer in answers.items()}


def committed(admin: AdminClient, group: str, topic: str) -> dict[int, int]:
    """What the group has handled of each partition: everything below this offset."""
    request = [ConsumerGroupTopicPartitions(group)]
    answer = admin.list_consumer_group_offsets(request, request_timeout=TIMEOUT)[group].result()
    return {at.partition: at.offset for at in answer.topic_partitions if at.topic == topic and at.offset > 0}


def offsets_now(admin: AdminClient, wanted: list[Position], last: str) -> dict[Position, range]:
    """What each topic holds. One topic's ends are asked last: whatever follows from it then lies below."""
    begins, ends = offsets(admin, wanted, EARLIEST), dict[Position, int]()
    for is_last in (False, True):
        ends |= offsets(admin, [at for at in wanted if (at[0] == last) is is_last], LATEST)
    return {at: range(begins[at], ends[at]) for at in wanted}
