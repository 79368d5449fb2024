"""`pipeline size --check`: the model beside what a stack does under three loads.

The loads follow each other on one stack, the heaviest first, each after a checkpoint. So the
lighter ones meet tables that are filled, and the model has to say how many of their pages are
logged whole.
"""

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import NamedTuple

import requests
from confluent_kafka import Consumer, Producer

from contract.names import AUDIT_TOPIC
from lab.bench.latency import wait_for_each
from lab.bench.running import follow
from lab.environment import describe_machine, throwaway_stack
from lab.size import looks, parts
from lab.size.constants import Constants
from lab.size.measure import EVENT_TOPIC, SILENCE_SECONDS, TOPICS, read_some
from lab.size.orders import order_id, send
from lab.size.setup import Setup, read_setup
from ops.produce import connect
from ops.settings import Settings
from ops.stack.stack import Stack, Step

RATES = (2000, 500, 50)  # orders a second
SECONDS = 20
TOLERANCE = 0.25
WARM_UP = 500  # orders before the first load
BATCHES = re.compile(r"^batch_records_(sum|count) (\S+)$", re.MULTILINE)


class Compared(NamedTuple):
    """One number at one load, as the model has it and as it was measured."""

    rate: int
    what: str
    unit: str
    model: float
    measured: float

    @property
    def ratio(self) -> float:
        """Return how many times what the model says was measured."""
        return self.measured / self.model

    @property
    def is_close(self) -> bool:
        """Return whether the model is right within a quarter."""
        return abs(self.ratio - 1) <= TOLERANCE


class Look(NamedTuple):
    """What a stack has done so far."""

    log: float
    tables: float
    topics: float
    batches: float
    records: float  # in these batches


class Checked(NamedTuple):
    """Every comparison, and where it was made."""

    machine: str
    seconds: int
    found: list[Compared]

    @property
    def is_close(self) -> bool:
        """Return whether every number is right within a quarter."""
        return all(one.is_close for one in self.found)


def check(
    settings: Settings,
    step: Step,
    constants: Constants,
    rates: Sequence[int] = RATES,
    seconds: int = SECONDS,
) -> Checked:
    """Run the loads on a throwaway stack, and compare each with the model."""
    found: list[Compared] = []
    with throwaway_stack(settings, step, "size", services=1) as stack:
        machine = describe_machine(stack.env())
        looks.stop_vacuum(stack.env())
        producer = connect(stack.env()["KAFKA_BOOTSTRAP_SERVERS"])
        run_load(stack, producer, range(WARM_UP), WARM_UP)
        before = WARM_UP
        for rate in rates:
            numbers = range(before, before + rate * seconds)
            with step(f"{rate:,} orders/s for {seconds} s"):
                found += compare(stack, producer, constants, numbers, rate)
            before = numbers.stop
    return Checked(machine, seconds, found)


def compare(
    stack: Stack, producer: Producer, constants: Constants, numbers: range, rate: int
) -> list[Compared]:
    """Send these orders, and return what was seen beside what the model says."""
    setup = read_setup()
    looks.checkpoint(stack.env())
    before = look(stack)
    delays = run_load(stack, producer, numbers, rate)
    after = look(stack)
    orders = len(numbers)
    batches = after.batches - before.batches
    measured = {
        "log of an order": (after.log - before.log) / orders,
        "tables of an order": (after.tables - before.tables) / orders,
        "topics of an order": (after.topics - before.topics) / orders,
        "orders in a batch": (after.records - before.records) / batches,
        "median latency": 1000 * median(delays),
    }
    predicted = list(predict(constants, setup, rate, orders, numbers.start))
    return [Compared(rate, what, unit, model, measured[what]) for what, unit, model in predicted]


def predict(
    constants: Constants, setup: Setup, rate: float, orders: int, kept: int
) -> Iterator[tuple[str, str, float]]:
    """Yield what the model says of one worker and one database: what, unit and value."""
    worker = parts.worker(constants, setup)
    topics = parts.topic_bytes(constants, setup, rate, setup.partitions)
    yield "log of an order", "B", parts.log_bytes(constants, orders, kept) / orders
    yield "tables of an order", "B", parts.table_bytes(constants)
    yield "topics of an order", "B", sum(topics.values())
    yield "orders in a batch", "", worker.batch(rate)
    yield "median latency", "ms", 1000 * parts.latency(constants, setup, rate, rate)


def run_load(stack: Stack, producer: Producer, numbers: range, rate: int) -> list[float]:
    """Send each order when it is due; return the seconds from then to its event."""
    with follow(stack, EVENT_TOPIC) as events, follow(stack, AUDIT_TOPIC) as audited:
        start = time.perf_counter()
        due = [start + n / rate for n in range(len(numbers))]
        with ThreadPoolExecutor(1) as background:
            sending = background.submit(send, producer, wait_for_each(numbers, due))
            arrived = read_moments(events, numbers)
            sending.result()
        audits = 0
        while audits < len(numbers):
            audits += read_some(audited)
    return [came - then for came, then in zip(arrived, due, strict=True)]


def read_moments(events: Consumer, numbers: range) -> list[float]:
    """Return when the event of each of these orders was read."""
    keys = [order_id(number).encode() for number in numbers]
    missing = set(keys)
    moments: dict[bytes, float] = {}
    while missing:
        event = events.poll(SILENCE_SECONDS)
        assert event, f"{len(missing)} of {len(keys)} events are missing: see the stack's logs"
        key = event.key() or b""
        if key in missing:  # an event may be published twice: the first one counts
            moments[key] = time.perf_counter()
            missing.discard(key)
    return [moments[key] for key in keys]


def look(stack: Stack) -> Look:
    """Return what the stack has done so far."""
    env = stack.env()
    sizes = looks.table_sizes(env)
    shown = requests.get(f"{env['SERVICE_URL']}/metrics", timeout=10).text
    batches = {name: float(value) for name, value in BATCHES.findall(shown)}
    return Look(
        log=looks.log_end(env),
        tables=sum(sizes.rows.values()) + sum(sizes.indexes.values()),
        topics=sum(looks.topic_sizes(stack, TOPICS).values()),
        batches=batches["count"],
        records=batches["sum"],
    )


def lines(checked: Checked) -> Iterator[str]:
    """Yield the comparison for people."""
    yield f"{'orders/s':>8}  {'what':<19}{'model':>10}{'measured':>10}  ratio"
    for one in checked.found:
        verdict = "" if one.is_close else "  MISSED"
        yield (
            f"{one.rate:>8,}  {one.what:<19}{show(one.model, one.unit):>10}"
            f"{show(one.measured, one.unit):>10}  {one.ratio:.2f}{verdict}"
        )
    yield f"{checked.seconds} s each; {checked.machine}"


def show(value: float, unit: str) -> str:
    """Return a number with as many digits as mean something."""
    return f"{value:,.0f} {unit}".rstrip() if value >= 100 else f"{value:.3g} {unit}".rstrip()
