"""Who is what in the cluster now, as its own clients and tools say."""

import os
import re
import subprocess
from pathlib import Path

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without a type
    AdminClient,
    ConsumerGroupDescription,
)

from access.connect import connect_session
from access.kafka import kafka_connection
from access.kafka_java import java_client
from contract.names import INPUT_TOPIC, SUBSCRIBER
from ops.stack.kafka import java, numbered
from ops.stack.stack import Stack
from tests.client import until

SOON = 10
CONNECTOR = "fulfillment-outbox"


def admin() -> AdminClient:
    """Return a client that asks every broker."""
    return AdminClient({**kafka_connection(os.environ["KAFKA_BOOTSTRAP_SERVERS"]), "log_level": 0})


def leader(_stack: Stack) -> str:
    """Return the broker that leads the first partition of the orders."""
    topic = admin().list_topics(INPUT_TOPIC, timeout=SOON).topics[INPUT_TOPIC]
    return numbered("kafka", topic.partitions[0].leader)


def describe_group() -> ConsumerGroupDescription:
    """Return the service's group."""
    client = admin()  # as long as it is asked: an answer to a client that is gone never comes
    described = client.describe_consumer_groups([SUBSCRIBER], request_timeout=SOON)
    found: ConsumerGroupDescription = described[SUBSCRIBER].result(SOON)
    return found


def coordinator(_stack: Stack) -> str:
    """Return the broker that keeps the service's group."""
    return numbered("kafka", describe_group().coordinator.id)


def members(_stack: Stack) -> int:
    """Return how many services the group has, once it is at rest; 0 in a rebalance."""
    group = describe_group()
    return len(group.members) if group.state == ConsumerGroupState.STABLE else 0


def quorum_leader(stack: Stack) -> str:
    """Return the broker whose controller leads the others; only Java's tool tells that."""
    file = stack.run_dir / "client.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in java_client().items()))
    main = "org.apache.kafka.tools.MetadataQuorumCommand"
    servers = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    words = ("--bootstrap-server", servers, "--command-config", str(file), "describe", "--status")
    command = java(stack.settings, "-Xmx128m", main, *words)
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    found = re.search(r"LeaderId:\s+(\d)", said)
    assert found, said
    return numbered("kafka", int(found[1]))


def missing_copies() -> list[str]:
    """Return the partitions that a broker has not caught up with."""
    return [
        f"{name}/{number}"
        for name, topic in admin().list_topics(timeout=SOON).topics.items()
        for number, partition in topic.partitions.items()
        if len(partition.isrs) < 3
    ]


def until_all_are_back() -> None:
    """Wait until every partition has its three copies again."""
    until(missing_copies, lambda found: not found, 90, "partitions lack a copy")


def worker_of_the_task(stack: Stack) -> str:
    """Return the Connect worker that has the task of a connector; nothing while nobody has."""
    for number, port in enumerate(stack.settings.connect_ports, start=1):
        if not stack.supervisor.alive(numbered("connect", number)):
            continue
        url = f"https://127.0.0.1:{port}/connectors/{CONNECTOR}/status"
        with connect_session() as session:
            tasks = session.get(url, timeout=SOON).json().get("tasks", [])
        for task in tasks:
            if task["state"] == "RUNNING":
                at = stack.settings.connect_ports.index(int(task["worker_id"].rpartition(":")[2]))
                return numbered("connect", at + 1)
    return ""


def log_of(stack: Stack, name: str) -> str:
    """Return what a part has logged."""
    return Path(stack.log(name)).read_text()
