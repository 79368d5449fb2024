"""Two workers at one moment, and a transaction that is held open until the other has to wait."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Engine

from contract.names import SUBSCRIBER
from service.database import classify_errors
from service.dedup import Handled
from service.dedup.tracking import FRESH
from service.handler import Steps, split_conflicts
from service.outage import OutageError
from service.record import Item, Record
from service.write import write_on
from tests.laws.server import until
from tests.laws.world import LawBrokenError, World

DEADLOCK = "40P01"
SECONDS = 20

# Sessions of this database that wait for another.
WAITING = """
    select count(*)
    from pg_stat_activity
    where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0
"""


class Worker:
    """One more worker, in a thread of its own."""

    def __init__(self, world: World, records: Sequence[Record]) -> None:
        self.world = world
        self.records = records
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self) -> None:
        """Handle the batch, and keep what goes wrong for the end."""
        try:
            self.world.handle(self.records)
        except Exception as failure:  # noqa: BLE001 - told at the end
            self.failure = failure

    def start_and_wait(self) -> None:
        """Begin, and come as far as the transactions of others let it."""
        waiting_before = count_waiting(self.world)
        self.thread.start()

        def waits_or_has_ended() -> bool:
            has_ended = not self.thread.is_alive()
            return has_ended or count_waiting(self.world) > waiting_before

        until(waits_or_has_ended, bool, SECONDS, "a worker neither waits for a lock nor ends")


@contextmanager
def working(world: World, *batches: Sequence[Record]) -> Iterator[list[Worker]]:
    """Have a worker for each batch; at the end all of them have ended, and well."""
    workers = [Worker(world, records) for records in batches]
    try:
        yield workers
    finally:
        started = [worker for worker in workers if worker.thread.ident]
        for worker in started:
            worker.thread.join(SECONDS)
    for worker in started:
        if worker.thread.is_alive():
            raise LawBrokenError(f"a worker has not ended after {SECONDS} s: it waits for a lock")
        if worker.failure:
            raise explain(worker.failure)


def count_waiting(world: World) -> int:
    """Return how many sessions wait for another."""
    with world.connect() as admin:
        [(count,)] = admin.execute(WAITING).fetchall()
    return int(count)


def explain(failure: Exception) -> Exception:
    """Return a deadlock as the law that it breaks, and anything else as it is."""
    is_deadlock = isinstance(failure, OutageError) and failure.sqlstate == DEADLOCK
    if not is_deadlock:
        return failure
    return LawBrokenError(
        "two workers, each with messages that are rivals of the other's, waited for each other"
        " until the database ended one (a deadlock). Does each insert and update of rule.sql sort"
        " its rows by the unique key that it may have to wait for?"
    )


def hold_first_write(world: World, meanwhile: Callable[[], None]) -> Steps:
    """Return the steps; while the first write has not committed yet, something else happens."""
    done = False

    def hold_and_write(items: Sequence[Item]) -> dict[str, Handled]:
        nonlocal done
        if done:
            return world.write(items)
        done = True
        with classify_errors(), in_transaction(world).connect() as connection:
            known = write_on(connection, SUBSCRIBER, FRESH, items, rule=world.rule)
            meanwhile()
            connection.commit()
        return known

    return world.steps()._replace(write=hold_and_write)


@contextmanager
def held_open(world: World, records: Sequence[Record]) -> Iterator[None]:
    """Have these records written and not committed for a block, and then taken back."""
    [items] = split_conflicts(records)
    with classify_errors(), in_transaction(world).connect() as connection:
        write_on(connection, SUBSCRIBER, FRESH, items, rule=world.rule)
        yield
        connection.rollback()


def in_transaction(world: World) -> Engine:
    """Return the engine without its commit after each statement."""
    return world.engine.execution_options(isolation_level="READ COMMITTED")
