"""Two workers in one group, and one of them is killed in the middle of a batch."""

import sys

import pytest

from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, exactly_one, fresh, send, until, until_handled

ORDERS = 600  # more than a batch for each of the two


def orders() -> dict[str, Sent]:
    """Return this many good orders, by message id."""
    prefix = fresh("crash")
    return {
        f"{prefix}-{n}": Sent(f"{prefix}-{n}", f"{prefix}-o{n}", value(f"{prefix}-o{n}"))
        for n in range(ORDERS)
    }


@pytest.mark.parametrize("step", ["write", "post", "mark", "commit"])
def test_a_killed_worker_loses_and_doubles_nothing(stack: Stack, step: str) -> None:
    """A worker killed before the write, POST, mark or offset commit leaves one of everything."""
    stack.start("service-2", [sys.executable, "-m", "tests.e2e.crash", step])
    until(
        lambda: stack.log("service-2").read_text().rpartition("=== started")[2],
        lambda log: '"partitions": [' in log.replace('"partitions": []', ""),
        30,
        "the second worker was given no partition",
    )
    sent = orders()
    send(list(sent.values()))
    until(
        lambda: stack.supervisor.alive("service-2"),
        lambda alive: not alive,
        30,
        "the second worker still lives",
    )
    stack.stop("service-2")
    until_handled()
    exactly_one(list(sent))
