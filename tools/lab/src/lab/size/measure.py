"""`pipeline size --measure`: every constant, on a throwaway stack of its own.

First the orders are handled while Connect is down, then Connect publishes them all at once, then
some come one at a time, and in the end everything lands. So each part is alone while its seconds
are taken; the machine's cores would otherwise be shared.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from signal import Signals
from statistics import fmean, median
from typing import NamedTuple

from confluent_kafka import Consumer, Producer

from access.kafka_admin import Admin
from contract.events import ACCEPTED, EVENTS
from contract.names import AUDIT_TOPIC, INPUT_TOPIC
from lab.bench.running import follow
from lab.environment import describe_machine, throwaway_stack
from lab.size import looks
from lab.size.constants import (
    About,
    Connect,
    Constants,
    Cpu,
    Log,
    Table,
    Topic,
    Worker,
)
from lab.size.landing import measure_lake
from lab.size.orders import order_id, send
from lab.size.parts import PAGE
from lab.size.plan import CONNECTORS
from lab.size.queueing import distinct
from lab.size.setup import Setup, read_setup
from ops.produce import connect
from ops.settings import Settings
from ops.stack.stack import Stack, Step
from service.__main__ import wire
from service.consumer import RecordConsumer
from service.database import connect_to
from service.dedup import Handled as Known
from service.handler import Steps, handle
from service.logs import configure_logs
from service.record import Item
from service.settings import Settings as ServiceSettings
from service.start import prepare

[EVENT_TOPIC] = [event.topic for event in EVENTS if event.outcome == ACCEPTED]
TOPICS = (INPUT_TOPIC, EVENT_TOPIC, AUDIT_TOPIC)
FULL = 500  # orders in a batch
MORE = 2_000  # orders after a checkpoint
LONE_ORDERS = 60
QUEUED = 20_000  # orders that Connect has read and cannot send
STILL = 1.02  # from one look to the next
APART_SECONDS = 0.113  # no multiple of any interval: lone orders come at every moment of a round
WARM_UP = 3  # batches that are not timed
SILENCE_SECONDS = 60  # after which a chain is broken

Spent = dict[str, float]  # seconds of a core, by part
Write = Callable[[Sequence[Item]], dict[str, Known]]


class Span(NamedTuple):
    """When something began and ended."""

    began: float
    ended: float

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self.ended - self.began


class Times(NamedTuple):
    """Average seconds of a batch: how busy a worker is follows from sums, and slow ones count."""

    batch: float
    write: float


def measure(settings: Settings, step: Step, orders: int) -> Constants:
    """Return what each part costs here; `orders` are handled in full batches."""
    configure_logs("error")
    setup = read_setup()
    with throwaway_stack(settings, step, "size") as stack:
        machine = describe_machine(stack.env())
        looks.stop_vacuum(stack.env())
        stack.stop("service")
        stack.stop("connect")
        return Measuring(stack, setup, orders).everything(machine)


class Measuring:
    """The measurements, one after the other: each needs what the one before has left."""

    def __init__(self, stack: Stack, setup: Setup, orders: int) -> None:
        self.stack = stack
        self.env = stack.env()
        self.setup = setup
        self.orders = orders
        self.producer: Producer = connect(self.env["KAFKA_BOOTSTRAP_SERVERS"])
        self.spent: Spent = {}

    def everything(self, machine: str) -> Constants:
        """Return all constants."""
        empty = looks.table_sizes(self.env)
        with self.stack.step(f"handle {self.orders:,} orders in batches of {FULL}"):
            full, order_bytes = self.handle_full()
        sizes = looks.table_sizes(self.env)
        with self.stack.step(f"handle {MORE:,} orders after a checkpoint"):
            image_bytes = self.weigh_images(sizes, order_bytes)
        with self.stack.step("publish a backlog"):
            event_seconds = self.publish()
        together = looks.topic_sizes(self.stack, TOPICS)
        with self.stack.step(f"handle {LONE_ORDERS} orders one at a time"):
            lone, lone_seconds = self.handle_lone()
        everything = looks.topic_sizes(self.stack, TOPICS)
        heap_idle = looks.live_bytes(self.stack)
        with self.stack.step(f"keep {QUEUED:,} events from a frozen broker"):
            heap_full = self.fill_queues()
        with self.stack.step("land, compact"):
            lake = measure_lake(self.env, TOPICS, self.setup.partitions)
        rows = looks.grown(sizes.rows, empty.rows, self.orders)
        indexes = looks.grown(sizes.indexes, empty.indexes, self.orders)
        many = self.orders + MORE
        alone = looks.grown(everything, together, LONE_ORDERS)
        now = datetime.now(UTC).date().isoformat()
        return Constants(
            about=About(date=now, machine=machine, orders=self.orders),
            worker=line_through(lone, full),
            connect=Connect(
                fixed_seconds=max(0.0, lone_seconds - self.setup.poll_seconds / 2) / 1.5,
                each_seconds=event_seconds,
                heap_idle_mib=heap_idle / 2**20,
                queued_bytes=(heap_full - heap_idle) / QUEUED / CONNECTORS,
            ),
            log=Log(order_bytes=order_bytes, image_bytes=image_bytes),
            tables={
                name: Table(rows=size, indexes=indexes.get(name, 0)) for name, size in rows.items()
            },
            keys=looks.grown(sizes.btrees, empty.btrees, self.orders),
            topics={
                topic: Topic(together=size / many, alone=alone[topic])
                for topic, size in together.items()
            },
            lake=lake,
            cpu=Cpu(**self.spent),
        )

    def handle_full(self) -> tuple[Times, float]:
        """Handle orders in full batches; return their times, and bytes of log per order."""
        before = self.cpu("postgres", "kafka", "audit")
        send(self.producer, range(self.orders))
        looks.checkpoint(self.env)
        log_before = looks.log_end(self.env)
        own = time.process_time()
        handled = self.handle(FULL, self.orders)
        own = time.process_time() - own
        log = looks.log_end(self.env) - log_before
        self.spend(before, self.cpu("postgres", "kafka", "audit"), self.orders)
        self.spent["service"] = own / self.orders
        return handled, log / self.orders

    def weigh_images(self, sizes: looks.TableSizes, order_bytes: float) -> float:
        """Return the bytes of a full-page image: what orders after a checkpoint log more."""
        looks.checkpoint(self.env)
        before = looks.log_end(self.env)
        send(self.producer, range(self.orders, self.orders + MORE))
        self.handle(FULL, MORE)
        log = looks.log_end(self.env) - before
        without_images = MORE * order_bytes
        images = 0.0
        for size in sizes.btrees.values():
            images += distinct(size / PAGE, MORE)
        return (log - without_images) / images

    def handle(self, batch: int, orders: int) -> Times:
        """Handle so many orders that wait on the topic, and time each batch."""
        batches: list[float] = []
        writes: list[Span] = []
        with own_worker(self.env, batch) as (source, steps):
            noted = steps._replace(write=noting(steps.write, writes))
            while orders > 0:
                records = source.gather()
                if records:
                    began = time.perf_counter()
                    handle(records, noted)
                    batches.append(time.perf_counter() - began)
                    orders -= len(records)
        return Times(
            batch=fmean(batches[WARM_UP:]),
            write=fmean(one.seconds for one in writes[WARM_UP:]),
        )

    def publish(self) -> float:
        """Start Connect; return the seconds of an event of its backlog."""
        before = self.cpu("postgres", "kafka")
        orders = self.orders + MORE
        events = follow(self.stack, EVENT_TOPIC)
        audited = follow(self.stack, AUDIT_TOPIC)
        self.stack.start("connect")
        started = self.cpu("connect")
        first = read_some(events)
        began = time.perf_counter()
        read_all(events, orders - first)
        seconds = time.perf_counter() - began
        read_all(audited, orders)
        self.spend(before, self.cpu("postgres", "kafka"), orders)
        self.spend(started, self.cpu("connect"), orders)
        self.spent["walsender"] = looks.walsender_seconds(self.env) / (2 * orders)
        return seconds / (orders - first)

    def fill_queues(self) -> float:
        """Return the bytes that live in Connect while its queues hold what it cannot send."""
        first = self.orders + MORE + LONE_ORDERS
        events = follow(self.stack, EVENT_TOPIC)
        audited = follow(self.stack, AUDIT_TOPIC)
        self.stack.stop("connect")
        send(self.producer, range(first, first + QUEUED))
        self.handle(FULL, QUEUED)
        self.stack.start("connect")
        sent = read_some(events)
        self.stack.kill("kafka", Signals.SIGSTOP)
        try:
            lives = steady(partial(looks.live_bytes, self.stack))
        finally:
            self.stack.kill("kafka", Signals.SIGCONT)
        read_all(events, QUEUED - sent)
        read_all(audited, QUEUED)
        return lives

    def handle_lone(self) -> tuple[Times, float]:
        """Handle some orders one at a time; return their times, and seconds from commit to event.

        They come now and then, as in a stack at work: a loop of small batches is always warm.
        """
        first = self.orders + MORE
        events = follow(self.stack, EVENT_TOPIC)
        delays: list[float] = []
        batches: list[float] = []
        writes: list[Span] = []
        with own_worker(self.env, 1) as (source, steps):
            noted = steps._replace(write=noting(steps.write, writes))
            due = time.perf_counter()
            for number in range(first, first + LONE_ORDERS):
                due = max(due + APART_SECONDS, time.perf_counter())
                time.sleep(max(0.0, due - time.perf_counter()))
                send(self.producer, [number])
                while not (records := source.gather()):
                    pass
                began = time.perf_counter()
                handle(records, noted)
                batches.append(time.perf_counter() - began)
                delays.append(read_one(events, order_id(number)) - writes[-1].ended)
        write = fmean(one.seconds for one in writes)
        return Times(fmean(batches), write), median(delays)

    def cpu(self, *parts: str) -> Spent:
        """Return what these parts have taken so far."""
        return {part: looks.cpu_seconds(self.stack, part) for part in parts}

    def spend(self, before: Spent, after: Spent, orders: int) -> None:
        """Add what these orders have taken of each part."""
        for part, seconds in after.items():
            more = (seconds - before[part]) / orders
            self.spent[part] = self.spent.get(part, 0) + more


@contextmanager
def own_worker(env: dict[str, str], batch_records: int) -> Iterator[tuple[RecordConsumer, Steps]]:
    """Have what `python -m service` is made of, with batches of this size, in this process."""
    named = {
        name: env[name.upper()] for name in ServiceSettings.model_fields if name.upper() in env
    }
    settings = ServiceSettings.model_validate({**named, "batch_records": batch_records})
    engine = connect_to(
        settings.database_url, settings.database_password_file, settings.database_timeout_seconds
    )
    source = RecordConsumer(settings, lambda: False)
    admin = Admin(settings.kafka_bootstrap_servers)
    prepare(settings, engine, admin, source, EVENTS)
    try:
        yield source, wire(settings, engine, source)
    finally:
        source.leave()
        engine.dispose()


def noting(write: Write, spans: list[Span]) -> Write:
    """Return the step; it notes when each call began and ended."""

    def write_and_note(items: Sequence[Item]) -> dict[str, Known]:
        began = time.perf_counter()
        known = write(items)
        spans.append(Span(began, time.perf_counter()))
        return known

    return write_and_note


def line_through(lone: Times, full: Times) -> Worker:
    """Return what a batch takes by itself, and each of its orders."""
    each = (full.batch - lone.batch) / (FULL - 1)
    write_each = (full.write - lone.write) / (FULL - 1)
    return Worker(
        fixed_seconds=max(0.0, lone.batch - each),
        each_seconds=each,
        write_fixed_seconds=max(0.0, lone.write - write_each),
        write_each_seconds=write_each,
    )


def read_some(events: Consumer) -> int:
    """Return how many events have come now, at least one."""
    deadline = time.monotonic() + SILENCE_SECONDS
    while time.monotonic() < deadline:
        found = events.consume(1000, 0.2)
        good = [event for event in found if not event.error()]
        if good:
            return len(good)
    raise AssertionError(f"no event within {SILENCE_SECONDS} s: see the stack's logs")


def read_all(events: Consumer, count: int) -> None:
    """Wait until so many events have come."""
    while count > 0:
        count -= read_some(events)


def steady(look: Callable[[], float]) -> float:
    """Return what is looked at, once it grows no more."""
    deadline = time.monotonic() + SILENCE_SECONDS
    before, now = 0.0, look()
    while now > before * STILL:
        assert time.monotonic() < deadline, f"it still grows: {before:,.0f}, then {now:,.0f}"
        before, now = now, look()
    return now


def read_one(events: Consumer, key: str) -> float:
    """Return when the event with this key was read."""
    deadline = time.monotonic() + SILENCE_SECONDS
    while time.monotonic() < deadline:
        event = events.poll(1)
        if event and not event.error() and event.key() == key.encode():
            return time.perf_counter()
    raise AssertionError(f"no event of {key} within {SILENCE_SECONDS} s: see the stack's logs")
