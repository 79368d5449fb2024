"""Where the measuring happens: a stack of its own, empty tables, and the reference order."""

import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import psycopg
from confluent_kafka import Producer, libversion
from sqlalchemy import make_url

from ops.settings import Settings
from ops.stack.stack import Stack, Step
from ops.stack.supervisor import StackError
from service.record import Record

FIRST = 2_000_000  # the first order's number: every id has as many digits as the next
BATCH = 500  # the service's own
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
TABLES = {
    "DATABASE_URL": "tracking, fulfillment, dead_letter, outbox",
    "AUDIT_DATABASE_URL": "audit_entry, outbox",
}


@contextmanager
def own_stack(settings: Settings, step: Step) -> Iterator[Stack]:
    """A fresh stack in a folder of its own, so that no other data is touched; gone afterwards, logs apart."""
    place = {
        "run_dir": settings.run_dir / "bench",
        "jars_dir": settings.jars,
        "services": 1,
        "attach": False,
    }
    stack = Stack(settings.model_copy(update=place), step)
    stack.claim()  # stops what a killed bench has left over
    stack.remove_data()
    try:
        with stack.running():
            yield stack
    finally:
        stack.remove_data()


def describe(env: dict[str, str]) -> str:
    """What the numbers belong to, in a sentence; without durability there are none."""
    with administer(env) as admin:
        shown = [admin.execute(f"show {name}".encode()).fetchone() for name in DURABLE]
        versions = f"PostgreSQL {admin.info.parameter_status('server_version')}, librdkafka {libversion()[0]}"
    if shown != [("on",)] * len(DURABLE):
        raise StackError(
            f"{', '.join(DURABLE)} must be on, or no number counts: see migrations/postgresql.conf"
        )
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    where = f"{machine}, load average at the start {os.getloadavg()[0]:.1f}"
    return f"{where}, Python {platform.python_version()}, {versions}, {', '.join(DURABLE)} on"


def administer(env: dict[str, str], setting: str = "ADMIN_DATABASE_URL") -> psycopg.Connection:
    """A connection as the administrator to the database of this setting."""
    url = make_url(env[setting]).set(username="postgres").render_as_string()
    return psycopg.connect(url, autocommit=True, passfile=env["PGPASSFILE"])


def clear(env: dict[str, str]) -> None:
    """Empty tables for every arm, and a checkpoint, so that full-page images hit all of them alike."""
    for setting, tables in TABLES.items():
        with administer(env, setting) as admin:
            admin.execute(f"truncate {tables}".encode())
            admin.execute("checkpoint")


def order(number: int) -> bytes:
    """The reference order: three lines, and nothing unusual."""
    lines = [{"sku": f"tea-{n}", "quantity": 2, "unit_price": "12.10"} for n in range(3)]
    known = {"order_id": f"o-{number}", "customer_id": "c-7", "placed_at": "2026-11-21T10:00:00Z"}
    return json.dumps(known | {"lines": lines}).encode()


def batches(orders: int) -> Iterator[list[Record]]:
    """So many of them as the consumer gives them."""
    for first in range(FIRST, FIRST + orders, BATCH):
        numbers = range(first, first + BATCH)
        yield [
            Record("bench", 0, n, b"", order(n), [("message_id", f"m-{n}".encode())])
            for n in numbers
        ]


def send(
    to: Producer, topic: str, numbers: Iterable[int], value: Callable[[int], bytes] = order
) -> None:
    """Send these orders, and see every one acknowledged."""
    for number in numbers:
        to.produce(
            topic, value(number), f"o-{number}", headers=[("message_id", f"m-{number}".encode())]
        )
        to.poll(0 if len(to) < 50_000 else 0.1)  # half of what the client can hold
    assert to.flush(60) == 0, (
        f"{topic}: not every record was acknowledged within 60 s, see the broker's log"
    )
