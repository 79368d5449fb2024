"""Two services on containers, without Postgres, one of which is killed."""

import json
import os
from collections import Counter
from typing import Any

from confluent_kafka.admin import AdminClient

from extras.dynamodb.client import connect
from extras.dynamodb.outbox.settings import Settings
from tests.builders import value
from tests.client import Landed, Sent, fresh, send, until, until_handled, until_published
from tests.compose.project import Project, ask

SETTINGS = Settings()
ORDERS = 200
CUSTOMERS = 5


def test_two_share_the_orders_and_one_is_killed(project: Project) -> None:
    """Each order is added once and has one event, and no container has a Postgres."""
    assert not [name for name in project.containers() if name.startswith("postgres")]
    group, topic = SETTINGS.tally_group_id, SETTINGS.input_topic
    until(members, lambda found: len(found) == 2, 60, "the two do not share the partitions")
    prefix = fresh("m")
    customers = [f"{prefix}-c{number}" for number in range(CUSTOMERS)]
    orders = [order(f"{prefix}-{number}", customers) for number in range(ORDERS)]
    send(orders[: ORDERS // 2], topic)
    ask("docker", "kill", project.containers()["tally-2"]["Id"])
    send(orders, topic)
    until_handled(120, group, topic)

    def is_ours(event: Landed) -> bool:
        return event.key in customers

    events = until_published(SETTINGS.tally_topic, is_ours, ORDERS, 90)
    by_id = {event.headers["id"]: json.loads(event.value)["message_id"] for event in events}
    assert Counter(by_id.values()) == {sent.message_id: 1 for sent in orders}
    assert [count_orders(project, customer) for customer in customers] == [
        ORDERS // CUSTOMERS
    ] * CUSTOMERS


def order(message_id: str, customers: list[str]) -> Sent:
    """Return an order of one of the customers."""
    number = int(message_id.rpartition("-")[2])
    customer_id = customers[number % len(customers)]
    return Sent(message_id, message_id, value(message_id, customer_id=customer_id))


def members() -> list[str]:
    """Return the members of the group that have partitions."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    answers = admin.describe_consumer_groups([SETTINGS.tally_group_id])
    group: Any = answers[SETTINGS.tally_group_id].result(timeout=10)
    return [one.member_id for one in group.members if one.assignment.topic_partitions]


def count_orders(project: Project, customer_id: str) -> int:
    """Return how many orders the tally of a customer has."""
    address = project.good("port", "dynamodb-local", "8000").strip()
    client = connect(f"http://{address}", 10)
    found = client.get_item(TableName=SETTINGS.tally_table, Key={"id": customer_id})
    return int(found["Item"]["orders"])
