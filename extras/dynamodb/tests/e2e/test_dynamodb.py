"""Claims on DynamoDB, killed in the middle of a batch or forgotten: one of everything."""

import sys
from functools import partial
from hashlib import sha256

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine

from extras.dynamodb.store import Leases, Settings, connect
from ops.stack.stack import Stack
from service.handler import split_conflicts
from service.write import write
from tests.builders import record, value
from tests.client import Sent, counts, fresh, query, send, until, until_handled
from tests.client import connect as connect_to_postgres

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


@pytest.mark.usefixtures("spoiled")
def test_what_is_forgotten_everywhere_is_told_by_the_business(engine: Engine) -> None:
    """A message of which DynamoDB, fence and outbox know nothing is a repeat or a conflict.

    That a worker died with a claim on the other value changes neither.
    """
    settings = Settings(subscriber=fresh("subscriber"), dynamodb_lease_seconds=0)
    message_id, first_value, other_value = fresh("m"), value(fresh("o")), value(fresh("o"))
    [first], [other] = (
        split_conflicts([record(message_id, content)]) for content in (first_value, other_value)
    )

    def worker() -> Leases:
        return Leases(partial(write, engine, settings.subscriber), connect(settings), settings)

    handling = worker()
    assert handling.claim(first)[message_id].first
    handling.settle(first)
    forget(settings, message_id)
    for batch in (other, first, other):
        known = worker().claim(batch)[message_id]  # and it dies before it has settled
        assert not known.first
        assert known.value_sha256 == sha256(first_value).hexdigest()
    assert counts([message_id])["fulfillment"] == {message_id: 1}
    assert not counts([message_id])["outbox"]


def forget(settings: Settings, message_id: str) -> None:
    """Delete all that is known of a message, but what the business keeps."""
    key = {"id": f"{settings.subscriber}#{message_id}"}
    connect(settings).delete_item(TableName=settings.dynamodb_table, Key=key)
    with connect_to_postgres(role="postgres") as admin:
        admin.execute("delete from fence where message_id = %s", [message_id])
        admin.execute("delete from outbox where payload->>'message_id' = %s", [message_id])


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
