"""Where the time of an order goes: the service's own steps, with one clock around them.

The clock is in one place at a time, so what it finds adds up. It costs about a microsecond an
order.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any
from unittest import mock

from sqlalchemy import Engine, event

from lab.bench.numbers import Number
from lab.bench.write import connect_parts, leave_audit_out, service_settings
from lab.environment import empty_tables, make_topic
from lab.reference_orders import FIRST, send
from ops.produce import connect
from ops.stack.stack import Stack
from service import write as write_path
from service.consumer import RecordConsumer
from service.handler import Steps, handle
from service.settings import Settings

TOPIC = "profile"
REST = "split, compare, count"
PLACES = {
    "gather": "take the records from the client",
    "read": "parse, check and hash the order",
    "rows": "derive ids, make the rows JSON",
    "statement of write": "Postgres writes and commits",
    "write": "what is known after the write",
    "post": "the audit receiver answers",
    "statement of mark": "Postgres marks and commits",
    "mark": "which answers to mark",
    "commit": "commit the offsets",
}
WAYS: dict[str, Callable[[Steps], Steps]] = {
    "without audit": leave_audit_out,
    "with audit": lambda steps: steps,
}


class Clock:
    """The seconds in each place; a place within another one is not counted twice."""

    def __init__(self, read: Callable[[], float] = time.perf_counter) -> None:
        self.read = read
        self.seconds: dict[str, float] = defaultdict(float)
        self.places = [REST]
        self.since = read()

    def enter(self, place: str) -> None:
        """Count for this place from now on."""
        self.note()
        self.places.append(place)

    def leave(self) -> None:
        """Count for the place around it again."""
        self.note()
        self.places.pop()

    def note(self) -> None:
        """Count what has passed for the place that we are in."""
        now = self.read()
        self.seconds[self.places[-1]] += now - self.since
        self.since = now

    def around(self, place: str, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that is counted for this place."""

        def timed(*given: Any, **named: Any) -> Any:
            self.enter(place)
            try:
                return step(*given, **named)
            finally:
                self.leave()

        return timed


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the microseconds of an order in each place; the ways take turns."""
    env = stack.env() | {"INPUT_TOPIC": TOPIC}
    servers = env["KAFKA_BOOTSTRAP_SERVERS"]
    make_topic(servers, TOPIC, partitions=3)
    send(connect(servers), TOPIC, range(FIRST, FIRST + orders))
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for n in range(1, rounds + 1):
        for way, change in WAYS.items():
            with stack.step(f"profile: {way}, round {n} of {rounds}"):
                empty_tables(env)
                found[way].append(profile(service_settings(env), orders, change))
    return [number for way, profiles in found.items() for number in as_numbers(way, profiles)]


def profile(settings: Settings, count: int, change: Callable[[Steps], Steps]) -> dict[str, float]:
    """Handle so many orders with a clock around each step; return the microseconds of one."""
    engine, source, steps = connect_parts(settings)
    steps = change(steps)
    records = until_records(source)
    clock = Clock()
    left = count - len(records)
    with source.consumer, watched(clock, engine):
        timed = watch(clock, steps)
        gather = clock.around("gather", source.gather)
        handle(records, timed)
        while left > 0:
            records = gather()
            handle(records, timed)
            left -= len(records)
        clock.note()
    engine.dispose()
    return {place: 1_000_000 * seconds / count for place, seconds in clock.seconds.items()}


def until_records(source: RecordConsumer) -> list[Any]:
    """Return the first batch: joining the group is not counted."""
    while True:
        records = source.gather()
        if records:
            return records


def watch(clock: Clock, steps: Steps) -> Steps:
    """Return the steps with the clock around those that take time."""
    return steps._replace(
        read=clock.around("read", steps.read),
        write=clock.around("write", steps.write),
        post=clock.around("post", steps.post),
        mark=clock.around("mark", steps.mark),
        commit=clock.around("commit", steps.commit),
    )


@contextmanager
def watched(clock: Clock, engine: Engine) -> Iterator[None]:
    """Count each statement apart from the step that waits for it, and the rows that it is given."""

    def begin(*_call: Any) -> None:
        clock.enter(f"statement of {clock.places[-1]}")

    def end(*_call: Any) -> None:
        clock.leave()

    event.listen(engine, "before_cursor_execute", begin)
    event.listen(engine, "after_cursor_execute", end)
    with mock.patch.object(write_path, "rows", clock.around("rows", write_path.rows)):
        yield


def as_numbers(way: str, profiles: list[dict[str, float]]) -> Iterator[Number]:
    """Yield the median of each place, in the sequence of a batch, and of the whole."""
    names = PLACES | {REST: REST}
    for place, what in names.items():
        values = [found.get(place, 0.0) for found in profiles]
        if any(values):
            yield as_number(f"{way}: {what}", values)
    wholes = [sum(found.values()) for found in profiles]
    yield as_number(f"{way}: all", wholes)


def as_number(name: str, rounds: list[float]) -> Number:
    """Return the median of what the rounds have taken."""
    return Number("profile", name, median(rounds), "µs/order", rounds=rounds)
