"""One anomaly without Postgres: requests, effects and events are counted where they arrive."""

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from extras.dynamodb.outbox.transaction import Writer
from lab.dedup_matrix.alone import Column, Hands
from lab.dedup_matrix.alone_place import Asked, Place
from lab.dedup_matrix.candidate import Backends
from lab.dedup_matrix.effect import Moments
from lab.dedup_matrix.story import CrashError, Workers, make_record
from service.record import Record


class Deviation(NamedTuple):
    """How many there are too many of one thing, and how many that never were."""

    doubled: int = 0
    lost: int = 0


class Counts(NamedTuple):
    """What became of an anomaly's messages: each should have one of each."""

    effects: Deviation
    events: Deviation  # by their ids: one that is sent again under its id is lawful
    requests: Deviation

    @property
    def word(self) -> str:
        """Return the worst of effects and events: no database takes a request back."""
        if self.effects.lost or self.events.lost:
            return "loses"
        return "duplicates" if self.effects.doubled or self.events.doubled else "survives"


class Delivered(NamedTuple):
    """A message that somebody was given."""

    subscriber: str
    message_id: str
    order_id: str
    number: int


class AloneTrial:
    """One column, and messages that no other trial has."""

    def __init__(
        self, backends: Backends, column: Column, asked: Asked, place_of: Callable[[str], Place]
    ) -> None:
        self.backends = backends
        self.column = column
        self.asked = asked
        self.place_of = place_of  # each subscriber has tables of its own
        self.name = f"t-{uuid.uuid4().hex[:12]}"
        self.offsets = itertools.count()
        self.delivered: set[Delivered] = set()
        self.conflicts = 0
        self.unnoticed = 0
        self.workers = Workers(column.title)

    def record(
        self,
        message: str,
        sequence: int,
        order: str = "o-1",
        partition: int = 0,
        value_of: str = "",
    ) -> Record:
        """Return a record of this message, at the next offset.

        Its amount is a power of ten: a digit of an entity's sum says how often it was added.
        """
        line = {"sku": value_of or "tea", "quantity": 1, "unit_price": str(10**sequence)}
        return make_record(
            self.name,
            next(self.offsets),
            message,
            sequence,
            order=order,
            partition=partition,
            content={"customer_id": f"{self.name}-{order}", "lines": [line]},
        )

    def handle(
        self,
        records: Sequence[Record],
        moments: Moments | None = None,
        subscriber: str = "",
    ) -> None:
        """Let a new worker handle a batch, one record after the other; after a crash it is gone."""
        place = self.place_of(subscriber)
        hands = Hands(
            writer=Writer(place.clients.tables, place.settings),
            request=lambda message: self.asked.ask(question(place, message.message_id)),
            send=lambda event: place.publisher.publish([event]),
            moments=moments or Moments(),
        )
        try:
            for record in records:
                outcome = self.workers.retry(partial(self.column.handle, hands, record))
                self.conflicts += outcome == "conflict"
        except CrashError:
            pass
        self.delivered |= {to_delivered(subscriber, record) for record in records}

    def run_other(self, records: Sequence[Record], until_done: bool) -> Callable[[], None]:
        """Return a moment in which another worker takes a batch; here nobody waits for another."""
        return self.workers.moment_of(partial(self.handle, records), until_done)

    def join(self) -> None:
        """Wait until every other worker has ended."""
        self.workers.join()

    def lose_store(self) -> None:
        """Delete the claims. Numbers are in the entity, and are lost only with it."""
        for one in self.delivered:
            self.place_of(one.subscriber).delete_claim(one.message_id)

    def outlive_retention(self) -> None:
        """Let DynamoDB delete the claims, which expire."""
        self.lose_store()

    def expect_newest(self, record: Record) -> None:
        """Refuse: a tally adds, and no message replaces another."""
        raise NotImplementedError(record)

    def count(self) -> Counts:
        """Count everything where it arrives, once every worker has ended."""
        self.join()
        effects, events, requests = [], [], []
        for subscriber, delivered in group(self.delivered).items():
            place = self.place_of(subscriber)
            place.publish_outbox()
            published = Counter(place.published().values())
            for one in delivered:
                effects.append(place.amount(one.order_id) // 10**one.number % 10)
                events.append(published[one.message_id])
                requests.append(self.asked.counts[question(place, one.message_id)])
        found = Counts(deviation(effects), deviation(events), deviation(requests))
        lost = found.effects.lost + self.unnoticed
        return found._replace(effects=found.effects._replace(lost=lost))


def group(delivered: Iterable[Delivered]) -> dict[str, list[Delivered]]:
    """Return what each subscriber was given."""
    groups: dict[str, list[Delivered]] = {}
    for one in delivered:
        groups.setdefault(one.subscriber, []).append(one)
    return groups


def deviation(counts: Sequence[int]) -> Deviation:
    """Return how far these counts, one for each message, are from one."""
    doubled = sum(count - 1 for count in counts if count > 1)
    return Deviation(doubled, lost=counts.count(0))


def question(place: Place, message_id: str) -> str:
    """Return what a worker asks about a message."""
    return f"{place.settings.tally_table}/{message_id}"


def to_delivered(subscriber: str, record: Record) -> Delivered:
    """Return the message in a record as delivered to this subscriber."""
    [message_id] = record.header_values("message_id")
    [number] = record.header_values("sequence")
    return Delivered(subscriber, message_id.decode(), (record.key or b"").decode(), int(number))
