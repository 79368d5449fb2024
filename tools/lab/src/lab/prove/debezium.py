"""Connect with Debezium: this project's own outbox, its rows published by a worker whose producers lose answers."""

from collections.abc import Mapping
from dataclasses import replace

import requests

from lab.bench.place import administer
from lab.prove.config import BACK_OFF, Job
from lab.prove.count import LANES
from ops.settings import Settings
from ops.stack import broker, part
from ops.stack.jars import Run
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until

TOPICS = ("fulfillment.events", "rejection.events")
PARTITIONS = 3  # of these topics: one request holds a batch for each
BATCH, RECORD = 61, 400  # bytes: the header, and an event with its headers
SECONDS = 1200  # for all events of one arm
INSERT = b"""
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, payload, traceparent)
    select md5(%(type)s || n)::uuid, %(type)s, (n %% %(lanes)s)::text, 'proof', n::text::json,
           '00-' || md5('proof') || '-0000000000000001-01'
    from generate_series(0, %(messages)s - 1) n
"""
READ = b"select confirmed_flush_lsn >= %s from pg_replication_slots where slot_name = 'fulfillment_outbox'"


def send(stack: Stack, job: Job) -> int:
    """Write so many rows, and wait until the connector has each of them acknowledged; it gives up none."""
    sizes = {
        "batch.size": str(BATCH + RECORD * max(1, job.together // PARTITIONS)),
        "compression.type": "none",
    }
    lines = {**job.settings, **BACK_OFF, **sizes, "bootstrap.servers": job.bootstrap}
    connect = part.connect(stack.settings)
    stack.parts["connect"] = replace(
        connect, prepare=lambda run: configure(stack.settings, run, lines)
    )
    stack.up()
    with administer(stack.env(), "DATABASE_URL") as admin:
        named = {
            "type": job.topic.removesuffix(".events"),
            "lanes": LANES,
            "messages": job.messages,
        }
        admin.execute(INSERT, named)
        end = admin.execute("select pg_current_wal_insert_lsn()").fetchone()
        if not until(
            lambda: not failed(stack) and admin.execute(READ, end).fetchone() == (True,), SECONDS
        ):
            raise StackError(
                f"not all events were published within {SECONDS} s{stack.supervisor.tail('connect')}"
            )
    stack.stop("connect")
    return 0


def failed(stack: Stack) -> bool:
    """Never true: a task that has failed publishes nothing more, and its reason is told."""
    answer = requests.get(
        f"{stack.env()['CONNECT_URL']}/connectors/fulfillment-outbox/status", timeout=10
    )
    for task in answer.json().get("tasks", []):
        if task["state"] == "FAILED":
            raise StackError(f"the connector's task has failed: {task['trace'][:500]}")
    return False


def configure(settings: Settings, run: Run, producer: Mapping[str, str]) -> None:
    """The worker of this project, but with these producers, and without a pause for a second worker to join."""
    broker.prepare_connect(settings, run)
    file = settings.run_dir / "worker.properties"
    kept = [line for line in file.read_text().splitlines() if not line.startswith("producer.")]
    file.write_text(
        "\n".join([*kept, *(f"producer.{key}={value}" for key, value in producer.items())]) + "\n"
    )
    broker.override(file, {"scheduled.rebalance.max.delay.ms": "0"}, file)
