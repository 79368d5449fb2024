"""What a batch costs whatever the machine: statements, commits, and bytes of the write-ahead log."""

from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

from sqlalchemy import Engine, event

from lab.bench.numbers import Number
from lab.bench.place import BATCH, administer, batches, clear
from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import Steps, handle
from service.write import mark, write

# A connection hands in its counters only along with a table's, hence pg_am: one statement, one commit.
HAND_IN = (
    "select pg_backend_pid(), current_database(), pg_stat_force_next_flush() from pg_am limit 1"
)
READ = "select xact_commit, wal_bytes, wal_fpi from pg_stat_get_backend_wal(%s), pg_stat_database where datname = %s"
ORDERS = 20_000  # however many were asked for: counts do not get better by more
UNITS = ("statements a batch", "commits a batch", "bytes of WAL an order")
GOALS = {
    "write path": (1, 1, 1600),
    "write path and audit mark": (2, 2, 2000),
    "delivered again": (2, 2, 100),
}


def measure(stack: Stack, _orders: int, _rounds: int) -> list[Number]:
    """All that is counted, for each of the ways that a batch may go."""
    with stack.step("cost"):
        costs = count(stack.env())
    cells = [
        (way, *cell)
        for way, goals in GOALS.items()
        for cell in zip(costs[way], UNITS, goals, strict=True)
    ]
    return [
        Number("cost", f"{way}: {unit}", value, "", f"<= {goal}")
        for way, value, unit, goal in cells
    ]


def count(env: dict[str, str]) -> dict[str, tuple[float, float, float]]:
    """Take batches through their story, by turns without audit, and with it and then once more; without HTTP."""
    clear(env)  # so these must be databases that nobody needs
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 30)
    seen, costs = list[Any](), {way: list[tuple[int, ...]]() for way in GOALS}
    event.listen(engine, "before_cursor_execute", lambda *call: seen.append(call))
    bare = Steps(
        partial(write, engine, "fulfillment", FRESH), lambda _: {}, lambda _: None, lambda _: None
    )
    audited = bare._replace(
        post=lambda entries: {str(entry.message.message_id): None for entry in entries}
    )
    audited = audited._replace(mark=partial(mark, engine, "fulfillment"))
    plan = [
        [("write path", bare)],
        [("write path and audit mark", audited), ("delivered again", audited)],
    ]
    with administer(env) as admin:
        for n, records in enumerate(batches(ORDERS)):
            for way, steps in plan[n % 2]:
                before = counters(engine, admin, seen)
                handle(records, steps)
                pairs = zip(counters(engine, admin, seen), before, (1, 1, 0, 0), strict=True)
                costs[way].append(tuple(now - then - own for now, then, own in pairs))
    engine.dispose()
    return {way: summary(found) for way, found in costs.items()}


def counters(engine: Engine, admin: Any, seen: list[Any]) -> list[int]:
    """Statements, commits in the database, and bytes and full-page images of the engine's one connection."""
    with engine.connect() as connection:
        whose = tuple(connection.exec_driver_sql(HAND_IN).one())[:2]
    return [len(seen), *map(int, admin.execute(READ, whose).fetchone() or ())]


def summary(costs: list[tuple[int, ...]]) -> tuple[float, float, float]:
    """Most statements; usual commits, as others come by (autovacuum); bytes of batches without full-page images."""
    clean = [wal for *_, wal, images in costs if not images]
    assert len(clean) > len(costs) / 2, (
        f"only {len(clean)} of {len(costs)} batches are without full-page images"
    )
    return max(cost[0] for cost in costs), median(cost[1] for cost in costs), mean(clean) / BATCH
