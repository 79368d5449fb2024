"""What the demo sends: the contract's samples, mixed by a seed."""

import random
from collections import Counter
from itertools import cycle
from operator import itemgetter

from contract.samples import (
    INVALID,
    REJECTIONS,
    Sample,
    conflict,
    invalid,
    make_order,
    redelivery,
)

WITHIN = 700  # records between a record and what repeats it: sometimes one batch, sometimes another

# In every thousand orders, and at least one of each.
REDELIVERIES = 20
CONFLICTS = 2
REJECTED = 5
INVALIDS = 10


def make_records(seed: int, run: str, count: int) -> list[Sample]:
    """Make this many good orders, and redeliveries, conflicts, rejections and invalid records.

    What refers to an order comes after it and has its key, so it also arrives after it.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    orders = [make_order(rng, run, number) for number in range(count)]
    placed = list(enumerate(orders))

    def choose(share: int) -> list[int]:
        wanted = max(1, count * share // 1000)
        chosen = min(count, wanted)
        return rng.sample(range(count), chosen)

    def place(at: int, sample: Sample) -> None:
        later = at + rng.randint(1, WITHIN)
        placed.append((later, sample))

    for at in choose(REDELIVERIES):
        place(at, redelivery(orders[at]))
    for at in choose(CONFLICTS):
        place(at, conflict(orders[at]))
    for reject in REJECTIONS.values():
        for at in choose(REJECTED):
            place(at, reject(orders[at]))
    for at, kind in zip(choose(INVALIDS), cycle(INVALID), strict=False):
        place(at, invalid(orders[at], kind))
    placed.sort(key=itemgetter(0))
    return [sample for _, sample in placed]


def count_kinds(records: list[Sample]) -> dict[str, int]:
    """Return how many there are of each kind."""
    kinds = [record.kind for record in records]
    return dict(Counter(kinds))
