"""What a store costs: requests, bytes, and speed beside the default's; the effect is the bare one for all of them."""

import itertools
import time
import uuid
from functools import partial
from typing import NamedTuple

from lab.bench.numbers import compare
from lab.bench.place import BATCH, batches
from lab.dedup_matrix.columns import STORES
from lab.dedup_matrix.effect import Moments, write
from lab.dedup_matrix.stores import Place, Store
from ops.stack.stack import Step
from service.dedup import DedupStore
from service.handler import split_conflicts
from service.record import Item, read

ORDERS = 2 * BATCH  # in each round
NUMBERS = itertools.count(1)
DEFAULT = "tracking"


class Cost(NamedTuple):
    """A store's three numbers; speed is how many times as fast as the default."""

    requests: dict[str, int]  # for a batch, by server
    bytes: float  # for a message
    speed: float


def measure(place: Place, names: list[str], rounds: int, step: Step) -> dict[str, Cost]:
    """Every store in turn, round by round, the default first."""
    names = [DEFAULT, *(name for name in names if name != DEFAULT)]
    arms = {name: partial(rate, place, STORES[name]) for name in names}
    found = compare("speed", arms, dict.fromkeys(names, ""), rounds, step)
    speeds = {
        number.what.rpartition(" / ")[2]: 1 / number.value
        for number in found
        if number.unit == "times"
    }
    return {name: Cost(*space(place, STORES[name]), speeds[name]) for name in names}


def rate(place: Place, store: Store) -> float:
    """Messages a second, all of them fresh."""
    made, waiting = prepare(place, store)
    began = time.perf_counter()
    for wave in waiting:
        made.claim(wave)
        made.settle(wave)
    return ORDERS / (time.perf_counter() - began)


def space(place: Place, store: Store) -> tuple[dict[str, int], float]:
    """Requests for a batch, and what the store has grown by for each message, as its own server says it."""
    made, waiting = prepare(place, store)
    place.requests.clear()
    before = store.size(place)
    for wave in waiting:
        made.claim(wave)
        made.settle(wave)
    requests = {server: round(count / len(waiting)) for server, count in place.requests.items()}
    return requests, (store.size(place) - before) / ORDERS


def prepare(place: Place, store: Store) -> tuple[DedupStore, list[list[Item]]]:
    """A new subscriber, and batches of numbered messages; reading them is not timed."""
    whose = f"cost-{uuid.uuid4().hex[:12]}"
    waiting = []
    for records in batches(ORDERS):
        numbered = [
            r._replace(headers=[*r.headers, ("sequence", str(next(NUMBERS)).encode())])
            for r in records
        ]
        [wave] = split_conflicts(numbered, partial(read, needs_sequence=True))
        waiting.append(wave)
    return store.make(place, whose, "cost", partial(write, place.engine, whose, Moments())), waiting
