"""Who owns a partition: the group knows, and each member's client id is its address."""

from concurrent.futures import Future

from confluent_kafka.admin import AdminClient, ConsumerGroupDescription  # type: ignore[attr-defined]

ANSWER_SECONDS = 5.0


def find_owner(admin: AdminClient, group: str, topic: str, partition: int) -> str | None:
    """Return the address of the instance that owns a partition, or None in a rebalance."""
    asked = admin.describe_consumer_groups([group], request_timeout=ANSWER_SECONDS)
    answer: Future[ConsumerGroupDescription] = asked[group]
    for member in answer.result(ANSWER_SECONDS).members:
        for place in member.assignment.topic_partitions:
            if (place.topic, place.partition) == (topic, partition):
                address: str = member.client_id
                return address
    return None
