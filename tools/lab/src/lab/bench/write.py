"""The write path without audit: ours, the naive one, and what pgbench makes of the very same statement."""

import re
import subprocess
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.bench import naive
from lab.bench.numbers import Number, compare
from lab.bench.place import BATCH, FIRST, administer, batches, clear, send
from ops.produce import connect
from ops.stack.database import tool
from ops.stack.stack import Stack
from service.__main__ import wire
from service.consumer import RecordConsumer
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import handle, split_conflicts
from service.settings import Settings
from service.write import rows, statement

COUNT = "select count(*) from tracking join fulfillment using (message_id) join outbox on aggregate_id = order_id"


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Rates of the three arms, and how ours stands to the other two."""
    env = stack.env() | {"INPUT_TOPIC": "bench"}
    admin = AdminClient({"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"]})
    admin.create_topics([NewTopic("bench", 3, 1)])["bench"].result(30)
    send(connect(env["KAFKA_BOOTSTRAP_SERVERS"]), "bench", range(FIRST, FIRST + orders))
    arms = {
        "ours": partial(rate, env, orders, ours),
        "naive": partial(rate, env, orders // 40, naive.handle),
        "pgbench": partial(rate, env, orders, partial(pgbench, env, prepare_pgbench(env, orders))),
    }
    return compare("write", arms, {"naive": ">= 40", "pgbench": ">= 0.5"}, rounds, stack.step)


def rate(env: dict[str, str], count: int, arm: Callable[[Settings, int], float]) -> float:
    """Orders a second on empty tables, by a group that is new; every order must then be found in each table."""
    clear(env)
    given = {**env, "GROUP_ID": f"bench-{time.time_ns()}"}
    settings = Settings.model_validate(
        {n: given[n.upper()] for n in Settings.model_fields if n.upper() in given}
    )
    seconds = arm(settings, count)
    with administer(env, "DATABASE_URL") as admin:
        found = admin.execute(COUNT).fetchone()
    assert found == (count,), f"{found} of {count} orders were written: the rate means nothing"
    return count / seconds


def ours(settings: Settings, count: int) -> float:
    """The service's consumer and story of a batch, POST and mark left out; joining the group is not timed."""
    engine = connect_to(
        settings.database_url, settings.database_password_file, settings.database_timeout_seconds
    )
    source, started = RecordConsumer(settings, lambda: False), 0.0
    steps = wire(settings, engine, source)._replace(post=lambda _: {}, mark=lambda _: None)
    with source.consumer:
        while count > 0:
            if records := source.gather():
                started = started or time.perf_counter()
                handle(records, steps)
                count -= len(records)
        seconds = time.perf_counter() - started
    engine.dispose()
    return seconds


def pgbench(env: dict[str, str], script: str, _settings: Settings, count: int) -> float:
    """One client, with the statement prepared as the service's driver does it."""
    command = [
        tool("pgbench"),
        *f"-n -M prepared -t {count // BATCH} -D n=0 -f - {env['DATABASE_URL']}".split(),
    ]
    told = subprocess.run(
        command, env=env, input=script, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return count / BATCH / float(re.findall(r"tps = ([0-9.]+)", told)[0])


def prepare_pgbench(env: dict[str, str], orders: int) -> str:
    """The service's statement, its batches ready in a table, which pgbench reads one after the other."""
    with administer(env, "DATABASE_URL") as admin:
        admin.execute(
            "create table batch (n int primary key, items text storage external)"
        )  # no time to unpack
        admin.execute("grant select on batch to app")
        for n, records in enumerate(batches(orders), 1):
            admin.execute(
                "insert into batch values (%s, %s)", (n, rows(split_conflicts(records)[0]))
            )
    given = {":items": "(select items from batch where n = :n)", ":subscriber": "'fulfillment'"}
    sql = re.sub("|".join(given), lambda found: given[found[0]], statement(FRESH).text)
    return f"\\set n :n + 1\n{sql};\n"
