"""The cost of a batch on any machine: statements, commits, and bytes of write-ahead log."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from sqlalchemy import Engine, event

from lab.bench.numbers import Number
from lab.environment import connect_as_admin, empty_tables
from lab.reference_orders import BATCH, make_batches
from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import Steps, handle
from service.mark import Gate, Patience, mark
from service.post import Answers, Entry
from service.write import write

SUBSCRIBER = "fulfillment"
# A connection flushes its counters only along with a table's, hence pg_am.
FLUSH_COUNTERS = """
    select pg_backend_pid(), current_database(), pg_stat_force_next_flush()
    from pg_am
    limit 1
"""
READ_COUNTERS = """
    select xact_commit, wal_bytes, wal_fpi
    from pg_stat_get_backend_wal(%s), pg_stat_database
    where datname = %s
"""
ORDERS = 20_000  # however many were asked for: counts do not get better with more
UNITS = ("statements a batch", "commits a batch", "bytes of WAL an order")
WRITE_PATH = "write path"
WITH_MARK = "write path and audit mark"
REDELIVERY = "delivered again"
LIMITS = {
    WRITE_PATH: (1, 1, 1600),
    WITH_MARK: (2, 2, 2000),
    REDELIVERY: (2, 2, 100),
}


Summary = tuple[float, float, float]  # in the order of UNITS


class Counters(NamedTuple):
    """What has been counted so far, or what one batch has added to it."""

    statements: int
    commits: int
    wal_bytes: int
    full_page_images: int


def measure(stack: Stack, _orders: int, _rounds: int) -> list[Number]:
    """Return all counts of each way that a batch may take."""
    with stack.step("cost"):
        costs = count(stack.env())
    numbers = []
    for way, limits in LIMITS.items():
        for value, unit, limit in zip(costs[way], UNITS, limits, strict=True):
            number = Number(
                arm="cost",
                what=f"{way}: {unit}",
                value=value,
                unit="",
                goal=f"<= {limit}",
                must=f"<= {limit}",
            )
            numbers.append(number)
    return numbers


def count(env: dict[str, str]) -> dict[str, Summary]:
    """Handle batches by turns without the audit mark, and with it and then again; no HTTP."""
    empty_tables(env)  # so these must be databases that nobody needs
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 30)
    statements: list[Any] = []
    event.listen(engine, "before_cursor_execute", lambda *call: statements.append(call))
    unmarked = Steps(
        write=partial(write, engine, SUBSCRIBER, FRESH),
        post=accept_all,
        mark=lambda answers: answers,
        commit=lambda _records: None,
    )
    gate = Gate(may_give_up=lambda *_: True, tell=lambda _: None)  # nothing is refused here
    marked = unmarked._replace(mark=partial(mark, engine, SUBSCRIBER, Patience(900, 10), gate))
    even_batches = [(WRITE_PATH, unmarked)]
    odd_batches = [(WITH_MARK, marked), (REDELIVERY, marked)]
    costs: dict[str, list[Counters]] = {way: [] for way in LIMITS}
    with connect_as_admin(env) as admin:
        for number, records in enumerate(make_batches(ORDERS)):
            for way, steps in odd_batches if number % 2 else even_batches:
                before = read_counters(engine, admin, statements)
                handle(records, steps)
                after = read_counters(engine, admin, statements)
                costs[way].append(subtract(after, before))
    engine.dispose()
    return {way: summarize(found) for way, found in costs.items()}


def accept_all(entries: Sequence[Entry]) -> Answers:
    """Answer as a receiver that accepts every entry."""
    return {str(entry.message.message_id): None for entry in entries}


def read_counters(engine: Engine, admin: Any, statements: Sequence[Any]) -> Counters:
    """Return the counters of the engine's one connection."""
    with engine.connect() as connection:
        pid, database, _ = connection.exec_driver_sql(FLUSH_COUNTERS).one()
    counted = admin.execute(READ_COUNTERS, (pid, database)).fetchone()
    commits, wal_bytes, images = map(int, counted)
    return Counters(len(statements), commits, wal_bytes, images)


def subtract(after: Counters, before: Counters) -> Counters:
    """Return what happened in between, without the one statement that reads the counters."""
    return Counters(
        statements=after.statements - before.statements - 1,
        commits=after.commits - before.commits - 1,
        wal_bytes=after.wal_bytes - before.wal_bytes,
        full_page_images=after.full_page_images - before.full_page_images,
    )


def summarize(costs: Sequence[Counters]) -> Summary:
    """Return most statements, usual commits, and bytes an order without full-page images.

    The usual commits are a median, because others (autovacuum) commit in between.
    """
    clean = [cost.wal_bytes for cost in costs if not cost.full_page_images]
    assert len(clean) > len(costs) / 2, (
        f"only {len(clean)} of {len(costs)} batches are without full-page images"
    )
    statements = max(cost.statements for cost in costs)
    commits = median(cost.commits for cost in costs)
    return statements, commits, mean(clean) / BATCH
