"""Groups for the tests: messages, expected totals, and an aggregator that can be broken."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Engine

from extras.aggregator.group import Partition
from extras.aggregator.handler import States, Steps, handle
from extras.aggregator.replay import Read, replay
from extras.aggregator.store import find_first, load_states, track
from extras.aggregator.write import write
from service.outage import AbandonedError
from service.record import Record
from tests.client import query

COMPLETE = b'{"complete": true}'
Total = dict[str, Any]


class CrashError(BaseException):
    """The process is gone."""


def item(units: int = 1, amount: str = "1.00") -> bytes:
    """An item of a batch as bytes."""
    return json.dumps({"units": units, "amount": amount}).encode()


@dataclass
class Log:
    """One partition of a topic, as a list; offsets begin at a hundred."""

    topic: str
    records: list[Record] = field(default_factory=list)
    first: int = 100
    partition: int = 0

    def send(self, key: str, value: bytes | None, message_id: str | None = None) -> Record:
        """One record more, with a message id of its own unless one is given."""
        offset = self.first + len(self.records)
        own = (message_id or f"{self.topic}-{offset}").encode()
        self.records.append(
            Record(self.topic, self.partition, offset, key.encode(), value, [("message_id", own)])
        )
        return self.records[-1]

    def send_batch(self, key: str, units: Sequence[int]) -> Record:
        """Send items of this many units each and the completion; return the first record."""
        first, *_ = [self.send(key, item(n, f"{n}.10")) for n in units]
        self.send(key, COMPLETE)
        return first

    def read_between(self, _place: Partition, start: int, stop: int) -> Iterator[list[Record]]:
        """What a replay reads, three records at a time."""
        there = [record for record in self.records if start <= record.offset < stop]
        yield from (there[n : n + 3] for n in range(0, len(there), 3))


def expected(records: Sequence[Record]) -> list[Total]:
    """Every total, summed up in the simplest way: message by message, one list for each key."""
    seen: set[bytes] = set()
    open_: dict[bytes, list[Record]] = defaultdict(list)
    totals = []
    for record in records:
        [message_id] = record.header_values("message_id")
        value: Any = (
            json.loads(record.value or b"null") if (record.value or b"").startswith(b"{") else None
        )
        if value is None or message_id in seen:
            continue
        seen.add(message_id)
        key = record.key or b""
        if "complete" not in value:
            open_[key].append(record)
        elif key in open_:
            totals.append(total_of(open_.pop(key)))
    return totals


def total_of(records: Sequence[Record]) -> Total:
    """The total of these items."""
    values = [json.loads(record.value or b"") for record in records]
    return {
        "batch_id": (records[0].key or b"").decode(),
        "begin": records[0].place,
        "items": len(values),
        "units": sum(value["units"] for value in values),
        "amount": f"{sum(Decimal(value['amount']) for value in values):.2f}",
    }


@dataclass
class Aggregator:
    """One instance on real Postgres, with its memory; a test may break any of its steps."""

    engine: Engine
    log: Log
    committed: int = 0  # index of the next record, as the group knows it
    at: int = 0  # as this instance knows it
    states: States = field(default_factory=dict)
    broken: dict[str, Callable[..., Any]] = field(default_factory=dict)
    batch: int = 4

    @property
    def subscriber(self) -> str:
        """One of this test alone."""
        return f"aggregator of {self.log.topic}"

    def steps(self) -> Steps:
        """The real ones, but for what is broken."""
        real = Steps(
            load_states=partial(load_states, self.engine),
            track=partial(track, self.engine, self.subscriber),
            write=partial(write, self.engine, self.subscriber),
            commit=self.commit,
        )
        return real._replace(**self.broken)

    def commit(self, records: Sequence[Record]) -> None:
        """The offset after a batch."""
        self.committed = self.log.records.index(records[-1]) + 1

    def consume(self, count: int | None = None) -> None:
        """The next records, in batches; an abandoned one is taken again."""
        end = len(self.log.records) if count is None else self.at + count
        while self.at < end:
            records = self.log.records[self.at : min(self.at + self.batch, end)]
            try:
                handle(records, self.steps(), self.states)
            except AbandonedError:
                continue
            self.at += len(records)

    def crash(self) -> None:
        """Memory is gone; another instance begins where the group has committed."""
        self.states, self.at, self.broken = {}, self.committed, {}

    def crash_before(self, step: str) -> None:
        """Consume until the process is gone, in the place of a step."""

        def gone(*_: Any) -> None:
            raise CrashError

        self.broken = {step: gone}
        try:
            self.consume()
        except CrashError:
            self.crash()

    def replay(self, read: Read | None = None, too_long: float = 180) -> None:
        """One look of the replayer."""
        lookup = partial(find_first, self.engine, self.subscriber)
        replay(self.engine, read or self.log.read_between, lookup, self.log.topic, too_long)

    def totals(self) -> list[Total]:
        """What was published for this topic, in the sequence of the groups."""
        return published(self.log.topic)

    def left_open(self) -> list[str]:
        """The keys of the rows that are left."""
        return [
            key
            for (key,) in query(
                "select batch_id from open_batch where topic = %s order by 1", self.log.topic
            )
        ]

    def letters(self) -> list[tuple[int, str, str]]:
        """Offset, kind and reason of each dead letter."""
        return query(
            'select "offset", kind, reason from dead_letter where topic = %s order by 1',
            self.log.topic,
        )


def published(topic: str, event_type: str = "batch-totalled") -> list[Total]:
    """The bodies of the events of a topic's groups, in the sequence in which these began."""
    bodies = query(
        "select payload from outbox where aggregate_type = 'batch-total' and event_type = %s"
        " and payload->'begin'->>'topic' = %s"
        " order by (payload->'begin'->>'partition')::int,"
        " (payload->'begin'->>'offset')::bigint, seq",
        event_type,
        topic,
    )
    return [body for (body,) in bodies]


def in_order(totals: Sequence[Total]) -> list[Total]:
    """By where each group began."""
    return sorted(totals, key=lambda total: (total["begin"]["partition"], total["begin"]["offset"]))


def finish(aggregator: Aggregator) -> None:
    """Consume what is there and replay what needs it: the totals must then be right."""
    aggregator.consume()
    aggregator.replay()
    assert aggregator.totals() == in_order(expected(aggregator.log.records))
