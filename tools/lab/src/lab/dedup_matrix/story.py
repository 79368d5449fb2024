"""What every trial needs, whatever it tries: records of its own, workers that die, and others."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from lab.dedup_matrix.candidate import Backends
from lab.dedup_matrix.effect import Moments
from service.outage import OutageError
from service.record import Record

ORDER = {
    "placed_at": "2026-11-21T10:00:00Z",
    "lines": [{"sku": "tea", "quantity": 2, "unit_price": "12.10"}],
}
DEADLINE_SECONDS = 30  # no anomaly takes longer than a lease and a few statements
Known = TypeVar("Known")


class CrashError(Exception):
    """A worker has died, and with it whatever it held in memory."""


def crash() -> None:
    """End the worker at this moment."""
    raise CrashError


class Story(Protocol):
    """What an anomaly happens to."""

    backends: Backends
    conflicts: int  # another value under a known id, noticed
    unnoticed: int  # and not noticed

    def record(
        self,
        message: str,
        sequence: int,
        order: str = "o-1",
        partition: int = 0,
        value_of: str = "",
    ) -> Record:
        """Return a record of this message, at the next offset."""

    def handle(
        self,
        records: Sequence[Record],
        moments: Moments | None = None,
        subscriber: str = "",
    ) -> None:
        """Let a new worker handle a batch; after a crash it is gone."""

    def run_other(self, records: Sequence[Record], until_done: bool) -> Callable[[], None]:
        """Return a moment in which another worker takes a batch.

        The moment lasts until that worker is done, or else until it cannot go on.
        """

    def join(self) -> None:
        """Wait until every other worker has ended."""

    def lose_store(self) -> None:
        """Delete all that is kept to tell what came before."""

    def outlive_retention(self) -> None:
        """Let all that is kept become older than the retention."""

    def expect_newest(self, record: Record) -> None:
        """From now on each message replaces what its order was, and this one is the newest."""


class Workers:
    """The workers of one story beside its first, none of which is waited for for ever."""

    def __init__(self, story: str, is_blocked: Callable[[], bool] = lambda: False) -> None:
        self.story = story
        self.is_blocked = is_blocked  # whether some worker waits for another's transaction
        self.others: list[threading.Thread] = []
        self.waiting = threading.Event()  # a worker could not go on, and tries again

    def retry(self, step: Callable[[], Known]) -> Known:
        """Repeat the step until the outage is over, as the service does, but not for ever."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                return step()
            except OutageError as outage:
                if time.monotonic() > deadline:
                    raise
                self.waiting.set()
                time.sleep(max(0.01, min(outage.retry_after, 0.1)))

    def moment_of(self, work: Callable[[], None], until_done: bool) -> Callable[[], None]:
        """Return a moment in which another worker does this.

        The moment lasts until that worker is done, or else until it cannot go on.
        """

        def moment() -> None:
            self.waiting.clear()
            other = threading.Thread(target=work, daemon=True)
            self.others.append(other)
            other.start()
            deadline = time.monotonic() + DEADLINE_SECONDS
            while other.is_alive():
                cannot_go_on = self.waiting.is_set() or self.is_blocked()
                if cannot_go_on and not until_done:
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.story}: the other is neither done nor waiting")
                other.join(0.01)

        return moment

    def join(self) -> None:
        """Wait until every other worker has ended."""
        for other in self.others:
            other.join(DEADLINE_SECONDS)


def make_record(  # noqa: PLR0913 - what a record of a story may differ in
    topic: str,
    offset: int,
    message: str,
    sequence: int,
    *,
    order: str,
    partition: int,
    content: dict[str, object],
) -> Record:
    """Return a record whose ids are of this story alone."""
    order_id = f"{topic}-{order}"
    return Record(
        topic=topic,
        partition=partition,
        offset=offset,
        key=order_id.encode(),
        value=json.dumps(ORDER | {"order_id": order_id} | content).encode(),
        headers=[
            ("message_id", f"{topic}-{message}".encode()),
            ("sequence", str(sequence).encode()),
        ],
    )
