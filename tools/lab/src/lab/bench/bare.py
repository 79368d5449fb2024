"""The chain against its bare parts: the same outbox rows by pgbench, and everything behind them.

Debezium, the broker and the reader are the same. What is left out is the service: reading orders,
deciding, and every row but the outbox's.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from lab.bench import chain
from lab.bench.numbers import NO_TARGET, Number, Target, compare
from lab.bench.running import EVENTS, WARM_UP, WITHOUT_AUDIT, follow, read_moments
from lab.bench.write import run_pgbench
from lab.environment import connect_as_admin, empty_tables
from lab.reference_orders import BATCH, FIRST
from ops.stack.stack import Stack
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
SCRIPT = f"\\set n :n + 1\n{STATEMENTS['write']}\n"


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of the chain without audit, with it, and of the bare chain."""
    with stack.step("bare: let the service write the events"):
        chain.rate(stack, "service", orders, WITHOUT_AUDIT)
        keep_events(stack.env())
    arms = {
        "without audit": partial(chain.rate, stack, "service", orders, WITHOUT_AUDIT),
        "with audit": partial(chain.rate, stack, "service", orders),
        "bare": partial(rate, stack, orders),
    }
    targets = {
        "without audit / bare": Target(goal=">= 0.65"),
        "with audit / bare": NO_TARGET,
    }
    return compare("bare", arms, targets, rounds, stack.step)


def keep_events(env: dict[str, str]) -> None:
    """Keep the rows that are in the outbox; the first are those of the orders that warm up."""
    keep = STATEMENTS["keep"].format(warm_up=len(WARM_UP), batch=BATCH)
    with connect_as_admin(env, "DATABASE_URL") as admin:
        admin.execute(keep.encode())


def rate(stack: Stack, count: int) -> float:
    """Return events a second, from before the first is written until the last is read."""
    env = stack.env()
    empty_tables(env)
    numbers = range(FIRST, FIRST + count)
    with follow(stack, EVENTS) as events, ThreadPoolExecutor(1) as background:
        run_pgbench(env, SCRIPT, first=0, transactions=1)
        read_moments(events, WARM_UP)
        started = time.perf_counter()
        writing = background.submit(run_pgbench, env, SCRIPT, first=1, transactions=count // BATCH)
        last = max(read_moments(events, numbers))
        writing.result()
    return count / (last - started)
