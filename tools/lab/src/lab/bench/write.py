"""The write path without audit: ours, the naive one, and the same statement under pgbench."""

import re
import subprocess
import time
from collections.abc import Callable
from functools import partial

from sqlalchemy import Engine

from access.embedded import tool
from lab.bench import naive
from lab.bench.cost import accept_all
from lab.bench.numbers import Number, Target, compare
from lab.environment import connect_as_admin, empty_tables, make_topic
from lab.reference_orders import BATCH, FIRST, make_batches, send
from ops.produce import connect
from ops.stack.stack import Stack
from service.__main__ import wire
from service.consumer import RecordConsumer
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import Steps, handle, split_conflicts
from service.settings import Settings
from service.write import rows, statement

TOPIC = "bench"
COUNT = """
    select count(*)
    from tracking
    join fulfillment using (message_id)
    join outbox on aggregate_id = order_id
"""
BATCHES = """
    create table batch (
        n int primary key,
        items text storage external -- uncompressed: pgbench measures no unpacking
    );
    grant select on batch to app;
"""
PARAMETERS = {
    ":items": "(select items from batch where n = :n)",
    ":subscriber": "'fulfillment'",
}


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of the three arms, and the ratio of ours to the other two."""
    env = stack.env() | {"INPUT_TOPIC": TOPIC}
    servers = env["KAFKA_BOOTSTRAP_SERVERS"]
    make_topic(servers, TOPIC, partitions=3)
    send(connect(servers), TOPIC, range(FIRST, FIRST + orders))
    script = prepare_pgbench(env, orders)
    arms = {
        "ours": partial(rate, env, orders, ours),
        "naive": partial(rate, env, orders // 40, naive.handle),
        "pgbench": partial(rate, env, orders, partial(pgbench, env, script)),
    }
    targets = {
        "ours / naive": Target(goal=">= 40", must=">= 40"),
        "ours / pgbench": Target(goal=">= 0.75", must=">= 0.55"),
    }
    return compare("write", arms, targets, rounds, stack.step)


def rate(env: dict[str, str], count: int, arm: Callable[[Settings, int], float]) -> float:
    """Return orders a second, on empty tables and in a new group.

    Every order must then be found in every table.
    """
    empty_tables(env)
    seconds = arm(service_settings(env), count)
    with connect_as_admin(env, "DATABASE_URL") as admin:
        found = admin.execute(COUNT).fetchone()
    assert found == (count,), f"{found} of {count} orders were written: the rate means nothing"
    return count / seconds


def service_settings(env: dict[str, str]) -> Settings:
    """Return the service's settings for this stack, in a consumer group that is new."""
    new_group = f"bench-{time.time_ns()}"
    named = env | {"GROUP_ID": new_group}
    values = {}
    for name in Settings.model_fields:
        variable = name.upper()
        if variable in named:
            values[name] = named[variable]
    return Settings.model_validate(values)


def ours(settings: Settings, count: int) -> float:
    """Handle the orders without POST and mark."""
    return handle_all(settings, count, leave_audit_out)


def leave_audit_out(steps: Steps) -> Steps:
    """Return the steps as if the receiver had taken every entry, and nobody noted that."""
    return steps._replace(post=accept_all, mark=lambda answers: answers)


def connect_parts(settings: Settings) -> tuple[Engine, RecordConsumer, Steps]:
    """Return the service's own database, consumer and steps."""
    engine = connect_to(
        settings.database_url,
        settings.database_password_file,
        settings.database_timeout_seconds,
    )
    source = RecordConsumer(settings, lambda: False)
    return engine, source, wire(settings, engine, source)


def handle_all(
    settings: Settings, count: int, change: Callable[[Steps], Steps] = lambda steps: steps
) -> float:
    """Handle the orders with the service's own consumer and steps; return the seconds.

    Joining the group is not timed.
    """
    engine, source, steps = connect_parts(settings)
    steps = change(steps)
    started = 0.0
    with source.consumer:
        while count > 0:
            records = source.gather()
            if records:
                started = started or time.perf_counter()
                handle(records, steps)
                count -= len(records)
        seconds = time.perf_counter() - started
    engine.dispose()
    return seconds


def pgbench(env: dict[str, str], script: str, _settings: Settings, count: int) -> float:
    """Return the seconds of all batches."""
    return run_pgbench(env, script, first=1, transactions=count // BATCH)


def run_pgbench(env: dict[str, str], script: str, first: int, transactions: int) -> float:
    """Run the script in one client, with the statement prepared as the service's driver does it.

    The script counts n up before each batch.
    """
    options = f"-n -M prepared -t {transactions} -D n={first - 1} -f -"
    command = [tool("pgbench"), *options.split(), env["DATABASE_URL"]]
    done = subprocess.run(
        command,
        env=env,
        input=script,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    [rate] = re.findall(r"tps = ([0-9.]+)", done.stdout)
    return transactions / float(rate)


def prepare_pgbench(env: dict[str, str], orders: int) -> str:
    """Store the batches in a table; return a script that writes one after the other."""
    with connect_as_admin(env, "DATABASE_URL") as admin:
        admin.execute(BATCHES)
        for number, records in enumerate(make_batches(orders), 1):
            [items] = split_conflicts(records)
            admin.execute("insert into batch values (%s, %s)", (number, rows(items)))
    sql = statement(FRESH).text
    for name, value in PARAMETERS.items():
        sql = re.sub(rf"{name}\b", value, sql)
    return f"\\set n :n + 1\n{sql};\n"
