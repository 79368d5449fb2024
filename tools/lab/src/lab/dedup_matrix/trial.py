"""One anomaly on one store: workers that handle batches as the service does, then a count."""

import itertools
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import text

from lab.dedup_matrix.candidate import Backends, Candidate
from lab.dedup_matrix.effect import Moments, count_effects, find_last, write
from lab.dedup_matrix.story import CrashError, Workers, make_record
from service.handler import compare, split_conflicts
from service.record import Item, Record, read

IS_BLOCKED = text("""
    select exists (
        select
        from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
    )
""")


class Verdict(NamedTuple):
    """What became of an anomaly's messages: each should have had one effect.

    Where each says how things are, what counts is the last effect of each order.
    """

    doubled: int
    lost: int
    stale: int = 0

    @property
    def word(self) -> str:
        """Return the worst of it: a loss is worse than a double."""
        if self.lost:
            return "loses"
        if self.stale:
            return "stale"
        return "duplicates" if self.doubled else "survives"


class Trial:
    """One store, new subscribers, and a topic of its own whose records are made when needed."""

    def __init__(self, backends: Backends, store: Candidate) -> None:
        self.backends = backends
        self.store = store
        self.name = f"t-{uuid.uuid4().hex[:12]}"
        self.offsets = itertools.count()
        self.expected: set[tuple[str, str]] = set()  # subscriber and message
        self.conflicts = 0  # another value under a known id, noticed
        self.unnoticed = 0  # and not noticed
        self.newest: dict[str, str] | None = None  # by order, where a message replaces the last one
        self.workers = Workers(store.title, self.is_blocked)

    def record(
        self,
        message: str,
        sequence: int,
        order: str = "o-1",
        partition: int = 0,
        value_of: str = "",
    ) -> Record:
        """Return a record of this message, at the next offset."""
        return make_record(
            self.name,
            next(self.offsets),
            message,
            sequence,
            order=order,
            partition=partition,
            content={"customer_id": value_of or message},
        )

    def expect_newest(self, record: Record) -> None:
        """From now on each message replaces what its order was, and this one is the newest."""
        [message_id] = record.header_values("message_id")
        order_id = (record.key or b"").decode()
        self.newest = {**(self.newest or {}), order_id: message_id.decode()}

    def handle(
        self,
        records: Sequence[Record],
        moments: Moments | None = None,
        subscriber: str = "",
        worker: str = "",
    ) -> None:
        """Let a new worker handle a batch as the service does; after a crash it is gone."""
        whose = f"{self.name}{subscriber}"
        writing = partial(write, self.backends.engine, whose, moments or Moments())
        store = self.store.make(self.backends, whose, worker or uuid.uuid4().hex, writing)
        to_item = partial(read, needs_sequence=store.needs_sequence)
        try:
            for wave in self.split(records, to_item):
                known = self.workers.retry(partial(store.claim, wave))
                _, conflicts = compare(wave, known)
                self.conflicts += len(conflicts)
                store.settle(wave)
        except CrashError:
            pass
        for record in records:
            for message_id in record.header_values("message_id"):
                self.expected.add((whose, message_id.decode()))

    def split(
        self,
        records: Sequence[Record],
        to_item: Callable[[Record], Item],
    ) -> list[list[Item]]:
        """Fold a batch as the service does; without dedup, nobody folds either."""
        if self.store.folds:
            return split_conflicts(records, to_item)
        return [[to_item(record)] for record in records]

    def run_other(self, records: Sequence[Record], until_done: bool) -> Callable[[], None]:
        """Return a moment in which another worker takes a batch.

        The moment lasts until that worker is done, or else until it cannot go on.
        """
        return self.workers.moment_of(partial(self.handle, records), until_done)

    def is_blocked(self) -> bool:
        """Return whether some worker waits for another's transaction."""
        with self.backends.engine.connect() as connection:
            return connection.scalar(IS_BLOCKED) is True

    def join(self) -> None:
        """Wait until every other worker has ended."""
        self.workers.join()

    def lose_store(self) -> None:
        """Delete all that the store keeps."""
        self.store.lose(self.backends, self.name)

    def outlive_retention(self) -> None:
        """Let all that the store keeps become older than its retention."""
        self.store.forget(self.backends, self.name)

    def verdict(self) -> Verdict:
        """Count the effects once every worker has ended."""
        self.join()
        engine = self.backends.engine
        if self.newest is not None:
            last = find_last(engine, self.name)
            stale = sum(last.get(order) != newest for order, newest in self.newest.items())
            return Verdict(doubled=0, lost=0, stale=stale)
        subscribers = {subscriber for subscriber, _ in self.expected}
        effects = {subscriber: count_effects(engine, subscriber) for subscriber in subscribers}
        doubled = 0
        lost = self.unnoticed
        for subscriber, message_id in self.expected:
            count = effects[subscriber][message_id]
            if count == 0:
                lost += 1
            elif not self.store.downstream:
                doubled += count - 1
        return Verdict(doubled, lost)
