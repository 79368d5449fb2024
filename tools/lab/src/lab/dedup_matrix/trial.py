"""One anomaly on one store: workers that handle batches as the service does, and a count of what they did."""

import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy import text

from lab.dedup_matrix.effect import Moments, effects, write
from lab.dedup_matrix.stores import Place, Store
from service.handler import compare, split_conflicts
from service.outage import OutageError
from service.record import Item, Record, read

ORDER = {
    "placed_at": "2026-11-21T10:00:00Z",
    "lines": [{"sku": "tea", "quantity": 2, "unit_price": "12.10"}],
}
DEADLINE_SECONDS = 30  # no anomaly takes longer than a lease and a few statements
BLOCKED = text("""
    select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')
""")
Known = TypeVar("Known")


class CrashError(Exception):
    """The worker is gone; whatever it held in memory is gone with it."""


def crash() -> None:
    """A moment that is a worker's last."""
    raise CrashError


class Verdict(NamedTuple):
    """What became of an anomaly's messages: each should have had one effect."""

    doubled: int
    lost: int

    @property
    def word(self) -> str:
        """As the table says it; a loss is worse than a double."""
        return "loses" if self.lost else "duplicates" if self.doubled else "survives"


class Trial:
    """One store, new subscribers, and a topic of its own whose records are made as they are needed."""

    def __init__(self, place: Place, store: Store) -> None:
        self.place, self.store = place, store
        self.name = f"t-{uuid.uuid4().hex[:12]}"
        self.offsets = itertools.count()
        self.expected: set[tuple[str, str]] = set()  # subscriber and message
        self.conflicts = 0  # another value under a known id, seen
        self.unseen = 0  # and not seen
        self.others: list[threading.Thread] = []
        self.waiting = threading.Event()  # somebody could not go on, and tries again

    def record(
        self,
        message: str,
        sequence: int,
        order: str = "o-1",
        partition: int = 0,
        value_of: str = "",
    ) -> Record:
        """A record of this message, at the next offset."""
        order_id = f"{self.name}-{order}"
        content = ORDER | {"order_id": order_id, "customer_id": value_of or message}
        headers = [
            ("message_id", f"{self.name}-{message}".encode()),
            ("sequence", str(sequence).encode()),
        ]
        place = (self.name, partition, next(self.offsets))
        return Record(*place, order_id.encode(), json.dumps(content).encode(), list(headers))

    def handle(
        self,
        records: Sequence[Record],
        moments: Moments | None = None,
        subscriber: str = "",
        worker: str = "",
    ) -> None:
        """A new worker takes a batch, as the service does; struck by a crash, it is gone."""
        whose = f"{self.name}{subscriber}"
        to = partial(write, self.place.engine, whose, moments or Moments())
        store = self.store.make(self.place, whose, worker or uuid.uuid4().hex, to)
        try:
            for wave in self.waves(records, partial(read, needs_sequence=store.needs_sequence)):
                known = self.patient(partial(store.claim, wave))
                self.conflicts += len(compare(wave, known)[1])
                store.settle(wave)
        except CrashError:
            pass
        self.expected |= {
            (whose, header.decode())
            for record in records
            for header in record.header_values("message_id")
        }

    def waves(
        self, records: Sequence[Record], to_item: Callable[[Record], Item]
    ) -> list[list[Item]]:
        """As the service folds a batch; who has no dedup has not thought of that either."""
        return (
            split_conflicts(records, to_item)
            if self.store.folds
            else [[to_item(record)] for record in records]
        )

    def patient(self, step: Callable[[], Known]) -> Known:
        """What the service does in an outage: the same again, until it works; here not for ever."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                return step()
            except OutageError as outage:
                if time.monotonic() > deadline:
                    raise
                self.waiting.set()
                time.sleep(max(0.01, min(outage.retry_after, 0.1)))

    def beside(self, records: Sequence[Record], until_done: bool) -> Callable[[], None]:
        """A moment in which another worker takes a batch, to its end or until it cannot go on."""

        def moment() -> None:
            self.waiting.clear()
            other = threading.Thread(target=self.handle, args=[records], daemon=True)
            self.others.append(other)
            other.start()
            deadline = time.monotonic() + DEADLINE_SECONDS
            while other.is_alive() and (
                until_done or not (self.waiting.is_set() or self.is_blocked())
            ):
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"{self.store.title}: the other worker is neither through nor waiting"
                    )
                other.join(0.01)

        return moment

    def join(self) -> None:
        """Wait for every other worker to end."""
        for other in self.others:
            other.join(DEADLINE_SECONDS)

    def is_blocked(self) -> bool:
        """Whether some worker waits for another's transaction."""
        with self.place.engine.connect() as connection:
            return connection.scalar(BLOCKED) is True

    def verdict(self) -> Verdict:
        """Count the effects, once every worker has ended."""
        self.join()
        counted = {whose: effects(self.place.engine, whose) for whose, _ in self.expected}
        counts = [counted[whose][message_id] for whose, message_id in self.expected]
        if self.store.downstream:
            counts = [min(1, count) for count in counts]
        return Verdict(sum(max(0, n - 1) for n in counts), counts.count(0) + self.unseen)
