"""Who owns a partition: the group knows, and each member's client id is its address."""

from concurrent.futures import Future
from functools import partial

from confluent_kafka.admin import AdminClient, ConsumerGroupDescription  # type: ignore[attr-defined]

from access.kafka_admin import Admin, wait_for

ANSWER_SECONDS = 5.0


def find_owner(admin: Admin, group: str, topic: str, partition: int) -> str | None:
    """Return the address of the instance that owns a partition, or None in a rebalance."""
    for member in admin.ask(partial(describe, group=group)).members:
        for place in member.assignment.topic_partitions:
            if (place.topic, place.partition) == (topic, partition):
                address: str = member.client_id
                return address
    return None


def describe(admin: AdminClient, group: str) -> ConsumerGroupDescription:
    """Return what the broker says of a group."""
    asked = admin.describe_consumer_groups([group], request_timeout=ANSWER_SECONDS)
    answer: Future[ConsumerGroupDescription] = asked[group]
    return wait_for(answer, 2 * ANSWER_SECONDS)
