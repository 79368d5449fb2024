"""`pipeline check --duplicates` on a real broker: planted repeats of each kind are counted."""

import json
import time
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from typer.testing import CliRunner, Result

from ops.cli import app
from ops.stack.stack import Stack

RETRIES = 3  # by a client: the same bytes with the time of the first try
RESENT = 4  # by the application: later
CONFLICTS = 2
ORDERS = 500
BEGAN = int(time.time() * 1000) - 600_000  # ten minutes ago


@pytest.fixture
def topic(spoiled: Stack) -> str:
    """A topic with repeats of each kind, an aborted transaction, and markers at its end."""
    name = f"repeats-{uuid4().hex[:8]}"
    bootstrap = spoiled.env()["KAFKA_BOOTSTRAP_SERVERS"]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(20)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "transactional.id": name,
        }
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    for number in range(ORDERS):
        send(producer, name, number)
    for number in range(RETRIES):
        send(producer, name, number)
    for number in range(RESENT):
        send(producer, name, 100 + number, later=60)
    for number in range(CONFLICTS):
        send(producer, name, 200 + number, value="another")
    producer.commit_transaction(20)
    producer.begin_transaction()
    for number in range(50):
        send(producer, name, number)  # nobody who reads what is committed sees these
    producer.flush(20)  # so that there is something to abort
    producer.abort_transaction(20)
    return name


def send(
    producer: Producer, topic: str, number: int, *, later: int = 0, value: str = "order"
) -> None:
    """Send an order with its id in a header, in the partition that its number decides."""
    message_id = f"message-{number}"
    producer.produce(
        topic,
        key=f"order-{number}",
        value=json.dumps({"message_id": message_id, "what": value}),
        partition=number % 3,
        timestamp=BEGAN + number + 1000 * later,
        headers=[("message_id", message_id.encode())],
    )


def check(topic: str, *arguments: str) -> Result:
    """Run the command on the stack that the environment names."""
    command = ["check", "--duplicates", "--topic", topic, *arguments]
    return CliRunner().invoke(app, command)


@pytest.mark.parametrize("identity", ["header:message_id", "json:$.message_id", "key"])
def test_repeats_are_told_by_who_made_them(topic: str, identity: str) -> None:
    """Those of an aborted transaction are none, and its markers do not keep it waiting."""
    done = check(topic, "--id", identity, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert found["records"] == ORDERS + RETRIES + RESENT + CONFLICTS
    assert found["kinds"] == {
        "retried by the client": RETRIES,
        "sent again by the application": RESENT,
        "the same id with another value": CONFLICTS,
    }
    assert found["apart"] == {"under 1 s": RETRIES + CONFLICTS, "under 1 h": RESENT}


def test_control_whole_values_miss_the_conflicts(topic: str) -> None:
    """By key and value a conflict is no repeat: the id decides what is seen."""
    found = json.loads(check(topic, "--id", "key+value", "--json").stdout)
    assert found["repeats"] == RETRIES + RESENT


def test_a_topic_without_repeats_is_fine(spoiled: Stack) -> None:
    """Exit 0; and a topic that is not there is exit 2."""
    admin = AdminClient({"bootstrap.servers": spoiled.env()["KAFKA_BOOTSTRAP_SERVERS"]})
    name = f"empty-{uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    assert check(name).exit_code == 0
    missing = check(f"{name}-missing")
    assert missing.exit_code == 2
    assert f"{name}-missing: " in missing.output


def test_only_what_is_young_is_read(topic: str) -> None:
    """Of the last hour that is all of it, of the last five minutes nothing."""
    hour = check(topic, "--since", "1h", "--id", "key", "--json")
    minutes = check(topic, "--since", "5m", "--json")
    assert json.loads(hour.stdout)["records"] == ORDERS + RETRIES + RESENT + CONFLICTS
    assert json.loads(minutes.stdout)["records"] == 0
