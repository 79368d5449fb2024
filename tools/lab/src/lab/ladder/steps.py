"""The steps of the ladder, and the faults that the orders meet on each of them."""

import random
from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

from lab.kafka_proxy import EVERY
from ops.stack.supervisor import StackError

STEPS = (
    "plain producer, auto-commit, dual write, plain POST",
    "+ idempotent producer",
    "+ idempotent consumer",
    "publish inside the transaction",
    "+ idempotent POST",
    "+ outbox with Debezium",
    "all, with reconciliation",
)
PRODUCER, CONSUMER, INSIDE, POST, OUTBOX, WHOLE = range(1, len(STEPS))

ORDERS_A_FAULT = 500  # each fault happens once in this many orders, and at least once


class Fault(NamedTuple):
    """What goes wrong; its points, in turn, are hit once each by an order that is chosen before."""

    title: str
    points: tuple[str, ...] = ()


# Below CONSUMER the timer may or may not have committed the offset of an order in progress.
# Of the crashes between commit and publish, every second one waits for the timer (late).
FAULTS = {
    "none": Fault("no fault"),
    "ack": Fault("lost produce ack", ("ack",)),
    "crash": Fault("crash after the work, before the offset commit", ("end",)),
    "gap": Fault("crash between database commit and publish", ("gap", "late")),
    "rebalance": Fault("rebalance in mid-work", ("freeze",)),
    "answer": Fault("lost HTTP answer", ("answer",)),
    "post-first": Fault("refused commit, POST before the write", ("post-first",)),
    "post-last": Fault("refused commit, POST after the write", ("post-last",)),
    "all": Fault("all at once"),
}
ALL = "all"


def times(orders: int) -> int:
    """Return how often each fault happens."""
    return max(1, orders // ORDERS_A_FAULT)


def fault_points(fault: str, orders: int) -> list[str]:
    """Return the point of each fault that happens, in order."""
    names = [name for name in FAULTS if name != ALL] if fault == ALL else [fault]
    found: list[str] = []
    for name in names:
        points = FAULTS[name].points
        if points:
            found += islice(cycle(points), times(orders))
    return found


def plan_faults(fault: str, message_ids: Sequence[str], seed: int) -> list[str]:
    """Name each fault by its point and its order.

    No order is hit twice, and none whose acknowledgement may be lost: those are the first ones.
    A lost acknowledgement has no name here, because the proxy chooses it.
    """
    orders = len(message_ids)
    points = [point for point in fault_points(fault, orders) if point != "ack"]
    spared = times(orders) * (EVERY + 1)
    needed = spared + len(points)
    if orders < needed:
        raise StackError(f"--orders: {orders} are too few for {fault}: give {needed} or more")
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    victims = rng.sample(message_ids[spared:], len(points))
    return [f"{point}.{victim}" for point, victim in zip(points, victims, strict=True)]
