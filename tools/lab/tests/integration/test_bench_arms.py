"""The arms of the bench do what they say, in databases of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.bench import flat
from lab.bench.bare import SCRIPT, keep_events
from lab.bench.redelivery import TOPIC, again_without_audit
from lab.bench.running import WARM_UP
from lab.bench.write import rate, run_pgbench
from lab.environment import connect_as_admin, drop_databases, make_databases, make_topic
from lab.reference_orders import BATCH, FIRST, make_batches, make_record, send
from ops.produce import connect
from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import split_conflicts
from service.record import Record
from service.write import write
from tests.client import fresh

ORDERS = 2 * BATCH
EVENTS = """
    select
        event_id, aggregate_type, aggregate_id, event_type, traceparent, tracestate, specversion,
        payload::text
    from outbox
    order by seq
"""
ROWS = """
    select
        (select count(*) from tracking),
        (select count(*) from fulfillment),
        (select count(*) from rejection),
        (select count(*) from outbox)
"""


@pytest.fixture
def env(clean_stack: Stack) -> Iterator[dict[str, str]]:
    """Empty databases of this test alone."""
    own = make_databases(clean_stack, fresh("arms").replace("-", "_"))
    yield own
    drop_databases(own)


def handle(env: dict[str, str], batches: list[list[Record]]) -> None:
    """Write what the service writes of these batches."""
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 30)
    for records in batches:
        [items] = split_conflicts(records)
        write(engine, "fulfillment", FRESH, items)
    engine.dispose()


def query(env: dict[str, str], sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with connect_as_admin(env, "DATABASE_URL") as admin:
        return admin.execute(sql.encode()).fetchall()


def test_pgbench_writes_what_the_service_has_written(env: dict[str, str]) -> None:
    """The same rows to the byte, in the same sequence and in batches of the same size."""
    handle(env, [[make_record(number) for number in WARM_UP], *make_batches(ORDERS)])
    written = query(env, EVENTS)
    keep_events(env)
    with connect_as_admin(env, "DATABASE_URL") as admin:
        admin.execute("truncate outbox")
    run_pgbench(env, SCRIPT, first=0, transactions=1)
    assert query(env, EVENTS) == written[: len(WARM_UP)]
    run_pgbench(env, SCRIPT, first=1, transactions=ORDERS // BATCH)
    assert query(env, EVENTS) == written
    batches = query(env, "select count(*) from outbox group by xmin::text order by min(seq)")
    assert batches == [(len(WARM_UP),), *[(BATCH,)] * (ORDERS // BATCH)]


def test_what_a_round_has_written_is_taken_back(clean_stack: Stack) -> None:
    """So that each round meets the filled rows alone, however many rounds there were."""
    with flat.filled(clean_stack, 200) as env:
        before = query(env, ROWS)
        handle(env, list(make_batches(ORDERS)))
        [(tracked, *_)] = query(env, ROWS)
        flat.take_back(env, ORDERS)
        assert tracked == before[0][0] + ORDERS
        assert query(env, ROWS) == before


def test_a_topic_is_handled_again_from_its_beginning(
    clean_stack: Stack, env: dict[str, str]
) -> None:
    """As many records come the second time as the first, and none of them has a second effect."""
    servers = env["KAFKA_BOOTSTRAP_SERVERS"]
    make_topic(servers, TOPIC, partitions=3)
    send(connect(servers), TOPIC, range(FIRST, FIRST + ORDERS))
    assert rate(env | {"INPUT_TOPIC": TOPIC}, ORDERS, again_without_audit) > 0
