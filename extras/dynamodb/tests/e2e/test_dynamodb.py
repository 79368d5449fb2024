"""The service with claims on DynamoDB, killed in the middle of a batch: one of everything."""

import sys

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from extras.dynamodb.store import Leases, Settings, connect
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, counts, fresh, query, send, until, until_handled

ORDERS = 300  # three batches, and a third of it once more
SETTINGS = {"DEDUP_STORE": "dynamodb", "BATCH_RECORDS": "100", "DYNAMODB_LEASE_SECONDS": "2"}
TABLES = ("fulfillment", "outbox", "audit_entry", "audit_outbox")


@pytest.mark.parametrize("step", ["post", "settle"])
def test_a_worker_killed_with_open_claims_loses_and_doubles_nothing(
    spoiled: Stack, step: str
) -> None:
    """Killed after its effects and before its claims are settled, it leaves them to be stolen."""
    topic = fresh("leases")
    admin = AdminClient({"bootstrap.servers": spoiled.env()["KAFKA_BOOTSTRAP_SERVERS"]})
    for made in admin.create_topics([NewTopic(topic, 3, 1)]).values():
        made.result(30)
    ids = [f"{topic}-{n}" for n in range(ORDERS)]
    send(
        [Sent(message_id, message_id, value(message_id)) for message_id in [*ids, *ids[::3]]], topic
    )
    own = SETTINGS | {"INPUT_TOPIC": topic, "GROUP_ID": topic}
    try:
        spoiled.start("service-2", [sys.executable, "-m", "tests.e2e.crash", step, "2"], own)
        until(
            lambda: spoiled.supervisor.alive("service-2"),
            lambda alive: not alive,
            60,
            "the worker still lives",
        )
        assert 0 < len(settled(ids)) < ORDERS
        assert len(settled(ids)) < len(fenced(topic)), "it was killed when nothing was in progress"
        spoiled.start("service-2", env=own)
        until_handled(60, topic, topic)
    finally:
        spoiled.stop("service-2")
    found = counts(ids)
    for table in TABLES:
        assert found[table] == dict.fromkeys(ids, 1), table
    assert settled(ids) == fenced(topic) == set(ids)


def settled(ids: list[str]) -> set[str]:
    """Return the ids of messages whose items are done."""
    store = Leases(lambda *_: {}, connect(Settings()), Settings())
    return {key for key, item in store.read(ids).items() if item["done"]}


def fenced(prefix: str) -> set[str]:
    """Return the ids of messages that had their effect."""
    rows = query(
        "select message_id from fence where message_id like %s and done",
        f"{prefix}-%",
        role="postgres",
    )
    return {message_id for (message_id,) in rows}
