"""The steps of the ladder, and the faults that meet the stream of orders on each of them."""

import random
from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

from lab.prove.tally import EVERY
from ops.stack.supervisor import StackError

STEPS = (
    "plain producer, auto-commit, dual write, plain POST",
    "+ idempotent producer",
    "+ idempotent consumer",
    "+ outbox with Debezium",
    "+ idempotent POST",
    "all, with reconciliation",
)
PRODUCER, CONSUMER, OUTBOX, POST, WHOLE = range(1, len(STEPS))

ORDERS_A_STRIKE = 500  # each fault strikes once for so many orders, and at least once


class Fault(NamedTuple):
    """What goes wrong; its points, in turn, are struck once each by an order that is named beforehand."""

    title: str
    points: tuple[str, ...] = ()


# Below CONSUMER the offset of an order that is still in work may have been committed by the timer or not: of the
# crashes before publishing, every second one waits for the timer (late).
FAULTS = {
    "none": Fault("no fault"),
    "ack": Fault("lost produce ack", ("ack",)),
    "crash": Fault("crash after the work, before the offset commit", ("end",)),
    "gap": Fault("crash between database commit and publish", ("gap", "late")),
    "rebalance": Fault("rebalance in mid-work", ("freeze",)),
    "answer": Fault("lost HTTP answer", ("answer",)),
    "all": Fault("all at once"),
}
ALL = "all"


def times(orders: int) -> int:
    """How often each fault strikes."""
    return max(1, orders // ORDERS_A_STRIKE)


def struck(fault: str, orders: int) -> list[str]:
    """Each strike's point."""
    alone = (
        [FAULTS[name].points for name in FAULTS if name != ALL]
        if fault == ALL
        else [FAULTS[fault].points]
    )
    return [
        point for points in alone for point in islice(cycle(points), times(orders) if points else 0)
    ]


def plan(fault: str, message_ids: Sequence[str], seed: int) -> list[str]:
    """The strikes, each named by its point and its order: no order is struck twice, nor one whose ack may be lost.

    An ack has no name: it is the proxy that loses it.
    """
    orders, points = (
        len(message_ids),
        [point for point in struck(fault, len(message_ids)) if point != "ack"],
    )
    spared = times(orders) * (EVERY + 1)
    if orders < spared + len(points):
        raise StackError(
            f"--orders: {orders} are too few for {fault}: give {spared + len(points)} or more"
        )
    victims = random.Random(seed).sample(message_ids[spared:], len(points))  # noqa: S311 - repeatable, not secret
    return [f"{point}.{message_id}" for point, message_id in zip(points, victims, strict=True)]
