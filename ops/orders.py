"""What the demo sends: the contract's samples, mixed by a seed."""

import random
from collections import Counter

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
        return rng.sample(range(count), min(count, max(1, count * share // 1000)))

    def place(at: int, sample: Sample) -> None:
        placed.append((at + rng.randint(1, WITHIN), sample))

    for at in choose(REDELIVERIES):
        place(at, redelivery(orders[at]))
    for at in choose(CONFLICTS):
        place(at, conflict(orders[at]))
    for reject in REJECTIONS.values():
        for at in choose(REJECTED):
            place(at, reject(orders[at]))
    kinds = list(INVALID)
    for number, at in enumerate(choose(INVALIDS)):
        place(at, invalid(orders[at], kinds[number % len(kinds)]))
    return [sample for _, sample in sorted(placed, key=lambda one: one[0])]


def count_kinds(records: list[Sample]) -> dict[str, int]:
    """Return how many there are of each kind."""
    return dict(Counter(record.kind for record in records))
