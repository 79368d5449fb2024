"""What a store costs: requests, bytes, and speed beside the default's, all with the bare effect."""

import itertools
import time
import uuid
from functools import partial
from typing import NamedTuple

from lab.bench.numbers import NO_TARGET, RATIO, compare
from lab.dedup_matrix.candidate import Backends, Candidate
from lab.dedup_matrix.effect import Moments, write
from lab.dedup_matrix.stores import STORES
from lab.reference_orders import BATCH, make_batches
from ops.stack.stack import Step
from service.dedup import DedupStore
from service.handler import split_conflicts
from service.record import Item, Record, read

ORDERS = 2 * BATCH  # in each round
NUMBERS = itertools.count(1)
DEFAULT = "tracking"


class Cost(NamedTuple):
    """A store's three numbers; speed is how many times as fast as the default."""

    requests: dict[str, int]  # for a batch, by server
    bytes: float  # for a message
    speed: float


class Prepared(NamedTuple):
    """A store for a new subscriber, and batches that wait for it."""

    store: DedupStore
    batches: list[list[Item]]

    def handle_all(self) -> None:
        """Claim and settle every batch."""
        for batch in self.batches:
            self.store.claim(batch)
            self.store.settle(batch)


def measure(backends: Backends, names: list[str], rounds: int, step: Step) -> dict[str, Cost]:
    """Measure every store in turn, round by round, the default first."""
    others = [name for name in names if name != DEFAULT]
    arms = {name: partial(rate, backends, STORES[name]) for name in (DEFAULT, *others)}
    ratios = [f"{DEFAULT} / {name}" for name in arms]
    numbers = compare("speed", arms, dict.fromkeys(ratios, NO_TARGET), rounds, step)
    costs = {}
    for number in numbers:
        if number.unit == RATIO:  # the default's rate divided by this one's
            name = number.what.rpartition(" / ")[2]
            requests, size = space(backends, STORES[name])
            costs[name] = Cost(requests, size, 1 / number.value)
    return costs


def rate(backends: Backends, store: Candidate) -> float:
    """Return messages a second, all of them fresh."""
    prepared = prepare(backends, store)
    began = time.perf_counter()
    prepared.handle_all()
    return ORDERS / (time.perf_counter() - began)


def space(backends: Backends, store: Candidate) -> tuple[dict[str, int], float]:
    """Return requests for a batch and growth for a message, as the store's own server reports."""
    prepared = prepare(backends, store)
    backends.requests.clear()
    before = store.size(backends)
    prepared.handle_all()
    batches = len(prepared.batches)
    requests = {server: round(count / batches) for server, count in backends.requests.items()}
    return requests, (store.size(backends) - before) / ORDERS


def prepare(backends: Backends, store: Candidate) -> Prepared:
    """Make the store for a new subscriber, and batches of numbered messages."""
    whose = f"cost-{uuid.uuid4().hex[:12]}"
    batches = []
    for records in make_batches(ORDERS):
        numbered = [add_sequence(record) for record in records]
        [batch] = split_conflicts(numbered, partial(read, needs_sequence=True))
        batches.append(batch)
    writing = partial(write, backends.engine, whose, Moments())
    return Prepared(store.make(backends, whose, "cost", writing), batches)


def add_sequence(record: Record) -> Record:
    """Return the record with the next number in its header."""
    number = str(next(NUMBERS)).encode()
    return record._replace(headers=[*record.headers, ("sequence", number)])
