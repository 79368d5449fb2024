"""Connect with Debezium: this project's outbox, published by producers that lose answers."""

from collections.abc import Mapping
from dataclasses import replace

import psycopg
import requests

from lab.environment import connect_as_admin
from lab.prove.job import LANES, SHORT_BACKOFF, Job
from ops.jars import Run
from ops.settings import Settings
from ops.stack import part, worker
from ops.stack.kafka import override
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until

TOPICS = ("fulfillment.events", "rejection.events")
PARTITIONS = 3  # of these topics: one request holds a batch for each
BATCH_BYTES = 61  # the header
RECORD_BYTES = 400  # an event with its headers
SECONDS = 1200  # for all events of one arm
INSERT = b"""
    insert into outbox
        (event_id, aggregate_type, aggregate_id, event_type, payload, traceparent)
    select
        md5(%(type)s || n)::uuid,
        %(type)s,
        (n %% %(lanes)s)::text,
        'proof',
        n::text::json,
        '00-' || md5('proof') || '-0000000000000001-01'
    from generate_series(0, %(messages)s - 1) n
"""
CURRENT_POSITION = "select pg_current_wal_insert_lsn()"
HAS_PASSED = b"""
    select confirmed_flush_lsn >= %s
    from pg_replication_slots
    where slot_name = 'fulfillment_outbox'
"""


def send(stack: Stack, job: Job) -> int:
    """Write the rows and wait until each is acknowledged; the connector gives up none."""
    records = max(1, job.together // PARTITIONS)
    settings = {
        **job.settings,
        **SHORT_BACKOFF,
        "batch.size": str(BATCH_BYTES + RECORD_BYTES * records),
        "compression.type": "none",
        "bootstrap.servers": job.bootstrap,
    }
    stack.parts["connect"] = replace(
        part.connect(stack.settings, 1),
        prepare=lambda run: prepare_worker(stack.settings, run, settings),
    )
    stack.up()
    with connect_as_admin(stack.env(), "DATABASE_URL") as admin:
        publish(stack, admin, job)
    stack.stop("connect")
    return 0


def publish(stack: Stack, admin: psycopg.Connection, job: Job) -> None:
    """Insert the rows and wait until the connector has published all of them."""
    named = {
        "type": job.topic.removesuffix(".events"),
        "lanes": LANES,
        "messages": job.messages,
    }
    admin.execute(INSERT, named)
    end = admin.execute(CURRENT_POSITION).fetchone()

    def is_published() -> bool:
        refuse_if_failed(stack)
        return admin.execute(HAS_PASSED, end).fetchone() == (True,)

    if not until(is_published, SECONDS):
        tail = stack.supervisor.tail("connect")
        raise StackError(f"not all events were published within {SECONDS} s{tail}")


def refuse_if_failed(stack: Stack) -> None:
    """Raise the reason if the connector's task has failed: it will publish nothing more."""
    url = f"{stack.env()['CONNECT_URL']}/connectors/fulfillment-outbox/status"
    status = requests.get(url, timeout=10).json()
    for task in status.get("tasks", []):
        if task["state"] == "FAILED":
            raise StackError(f"the connector's task has failed: {task['trace'][:500]}")


def prepare_worker(settings: Settings, run: Run, producer: Mapping[str, str]) -> None:
    """Prepare this project's worker with these producers, and no pause before it begins."""
    worker.prepare(settings, run)
    file = settings.run_dir / "worker.properties"
    lines = file.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("producer.")]
    own = [f"producer.{key}={value}" for key, value in producer.items()]
    file.write_text("\n".join([*kept, *own]) + "\n")
    override(file, {"scheduled.rebalance.max.delay.ms": "0"}, file)
