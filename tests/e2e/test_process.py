"""The service as a process: how it stops, shares partitions, logs, and keeps secrets."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from signal import Signals

import requests
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ops.stack.stack import Stack
from service.consumer import RecordConsumer
from service.settings import Settings
from tests.builders import value
from tests.client import (
    Sent,
    away,
    ends,
    exactly_one,
    fresh,
    query,
    reader,
    send,
    until,
    until_handled,
)
from tests.load import orders
from tests.own_service import leaving, own_service


def log_of(stack: Stack, name: str = "service") -> str:
    """Return what a process has logged since its last start."""
    return stack.log(name).read_text().rpartition("=== started")[2]


def test_sigterm_finishes_the_batch_and_leaves_the_group(stack: Stack) -> None:
    """Under load the service stops within ten seconds, and the next one need not wait for it."""
    ids = orders(3_000)
    started = time.monotonic()
    stack.supervisor.send("service", Signals.SIGTERM)
    until(
        lambda: stack.supervisor.alive("service"), lambda alive: not alive, 10, "it does not stop"
    )
    assert time.monotonic() - started < 10
    assert log_of(stack).splitlines()[-1].count('"event": "stopped"') == 1
    stack.stop("service")
    stack.start("service")
    until(
        lambda: log_of(stack),
        lambda log: '"partitions": [0, 1, 2]' in log,
        5,
        "the old member is still in",
    )
    until_handled()
    exactly_one(ids)


def test_sigterm_in_an_outage_abandons_the_batch(stack: Stack) -> None:
    """Stopped while Postgres is down, the service abandons the batch; the next one handles it."""
    until_handled()
    with away(stack, "postgres"):
        ids = orders(200)
        until_logged(stack, "outage")
        stack.stop("service")
        assert '"event": "abandoned"' in log_of(stack)
    stack.start("service")
    until_handled()
    exactly_one(ids)


def test_a_rebalance_in_an_outage_abandons_the_batch(stack: Stack) -> None:
    """A member that joins while the service waits for Postgres takes partitions: no torn batch."""
    until_handled()
    joining = RecordConsumer(group_settings(stack), is_stopping=lambda: False)
    with leaving(joining), away(stack, "postgres"):
        ids = orders(300)
        until_logged(stack, "outage")
        until_logged(stack, "abandoned", meanwhile=joining.gather)
    until_handled()
    ids += orders(60)  # on every partition: those that come back must not come back paused
    until_handled(20)
    exactly_one(ids)


def group_settings(stack: Stack) -> Settings:
    """Return the settings of one more member of the service's group."""
    env = stack.env()
    return Settings(
        kafka_bootstrap_servers=env["KAFKA_BOOTSTRAP_SERVERS"],
        input_topic=env["INPUT_TOPIC"],
        group_id=env["GROUP_ID"],
    )


def until_logged(stack: Stack, event: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Wait until the service logs such an event again, and keep doing something meanwhile."""
    before = log_of(stack).count(f'"event": "{event}"')

    def count() -> int:
        meanwhile()
        return log_of(stack).count(f'"event": "{event}"')

    until(
        count,
        lambda now: now > before,
        30,
        f"it tells of no {event}",
    )


def test_expired_records_stop_the_service(spoiled: Stack) -> None:
    """Records deleted before they were handled stop the service with one sentence."""
    topic, group = fresh("gone"), fresh("group")
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    for made in admin.create_topics([NewTopic(topic, 3, 1)]).values():
        made.result()
    orders(30, topic)
    with reader(group) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, n, 0) for n in range(3)], asynchronous=False)
    all_of_it = [TopicPartition(topic, number, end) for number, end in ends(topic).items()]
    for deleted in admin.delete_records(all_of_it).values():
        deleted.result()
    with own_service(spoiled, topic, GROUP_ID=group) as service:
        assert "the records after the committed offset are gone" in service.sentence()
    assert committed_nothing(topic, group)


def committed_nothing(topic: str, group: str) -> bool:
    """Return whether the group has committed nothing since."""
    with reader(group) as consumer:
        return {
            p.offset for p in consumer.committed([TopicPartition(topic, n) for n in range(3)], 10)
        } == {0}


def test_the_metrics_tell_what_happened(stack: Stack) -> None:
    """Batches, stages, messages, duplicates, dead letters and lag have Prometheus metrics."""
    [one] = orders(1)
    send([Sent(one, one, value(one)), Sent("bad", "bad", b"{")])
    until_handled()
    exposed = requests.get(f"{stack.env()['SERVICE_URL']}/metrics", timeout=10).text
    names = {
        line.split("{")[0].split(" ")[0]
        for line in exposed.splitlines()
        if not line.startswith("#")
    }
    assert {
        "batch_records_count",
        "stage_seconds_bucket",
        "messages_total",
        "dead_letters_total",
        "abandoned_batches_total",
        "lag_records",
    } <= names
    for outcome in ("fulfilled", "rejected", "duplicate", "audited", "audit_refused"):
        assert f'messages_total{{outcome="{outcome}"}}' in exposed
    assert requests.get(f"{stack.env()['SERVICE_URL']}/nowhere", timeout=10).status_code == 404


def test_a_dead_letter_is_logged_with_its_position(stack: Stack) -> None:
    """The log line of a dead letter is JSON with the record's topic, partition and offset."""
    [(partition, offset)] = send([Sent("bad", "bad", b"{")])
    until_handled()
    lines = [json.loads(line) for line in log_of(stack).splitlines() if line.startswith("{")]
    place = {"topic": "order.events", "partition": partition, "offset": offset}
    assert [
        line for line in lines if line["event"] == "dead_letter" and place.items() <= line.items()
    ]


def test_no_secret_leaks(stack: Stack) -> None:
    """No password is in a log, in Connect's answers, in a command line, or in .run/env."""
    secrets = [
        file.read_text().strip() for file in Path(stack.env()["SECRETS_DIR"]).glob("*_password")
    ]
    assert len(secrets) == 8
    exposed = "".join(
        file.read_text(errors="replace") for file in (stack.settings.run_dir / "log").iterdir()
    )
    exposed += (stack.settings.run_dir / "env").read_text()
    exposed += subprocess.run(
        ["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True
    ).stdout
    url = stack.env()["CONNECT_URL"]
    for path in ("config", "status", "tasks", "tasks/0/config", ""):
        exposed += requests.get(
            f"{url}/connectors/fulfillment-outbox/{path}".rstrip("/"), timeout=10
        ).text
    assert "cdc_password" in exposed  # the placeholder is there
    assert not [secret for secret in secrets if secret in exposed]
    for database in ("fulfillment", "audit"):
        rows = query(
            "select prosrc from pg_proc union all select query from pg_stat_activity",
            database=database,
        )
        assert not [row for row in rows for secret in secrets if secret in (row[0] or "")]
