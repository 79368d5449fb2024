"""Services that start again one by one, and a Connect worker that dies with its tasks."""

import re
import time

import pytest

from ops.stack.stack import Stack
from tests.client import exactly_one, until, until_handled
from tests.cluster import roles
from tests.e2e.test_outages import assert_all_published
from tests.load import load
from tests.reconciliation import GOOD

pytestmark = pytest.mark.prove
SERVICES = ("service", "service-2", "service-3")
TAKEN_OVER_SECONDS = 10.0


def moves(stack: Stack, name: str) -> int:
    """Return how often partitions came to a service, or went."""
    return len(re.findall(r'"partitions": \[\d', roles.log_of(stack, name)))


def until_all_are_members(stack: Stack) -> None:
    """Wait until the group is at rest with all of them, and each has the partition it was given."""
    one_each = [1, 1, 1]
    until(
        lambda: (roles.members(stack), [len(held(stack, name)) for name in SERVICES]),
        lambda found: found == (3, one_each),
        60,
        "the group is not at rest",
    )


def held(stack: Stack, name: str) -> set[int]:
    """Return the partitions that a service has, as it has logged since it was started."""
    _, _, since_start = roles.log_of(stack, name).rpartition("=== started")
    found: set[int] = set()
    for event in re.finditer(r'"partitions": \[(.*?)\], "event": "(\w+)"', since_start):
        numbers = {int(number) for number in re.findall(r"\d", event[1])}
        found = found | numbers if event[2] == "assigned" else found - numbers
    return found


def test_services_that_start_again_one_by_one_move_no_partition(stack: Stack) -> None:
    """Static members: each gets its own partitions back, and the others notice nothing."""
    for name in SERVICES:
        stack.start(name, env={"GROUP_INSTANCE_ID": name})
    until_all_are_members(stack)
    with load(bursts=2_000, pause=0.02) as ids:
        for restarted in SERVICES:
            others = [name for name in SERVICES if name != restarted]
            before = [moves(stack, name) for name in others]
            stack.start(restarted, env={"GROUP_INSTANCE_ID": restarted})
            until_all_are_members(stack)
            assert [moves(stack, name) for name in others] == before
    until_handled()
    exactly_one(ids)
    assert_all_published(ids)


def test_a_connect_worker_killed_with_its_tasks_is_replaced_in_seconds(stack: Stack) -> None:
    """The other worker has them running within ten seconds, and every event comes."""
    until(lambda: roles.worker_of_the_task(stack), bool, 60, "no task runs")
    killed = roles.worker_of_the_task(stack)
    with load(bursts=2_000, pause=0.02) as ids:
        stack.kill(killed)
        began = time.monotonic()
        until(
            lambda: roles.worker_of_the_task(stack),
            lambda name: name not in ("", killed),
            60,
            "nobody has taken the task over",
        )
        taken_over = time.monotonic() - began
        stack.start(killed)
    until_handled()
    exactly_one(ids)
    assert_all_published(ids)
    assert taken_over < TAKEN_OVER_SECONDS


def test_in_the_end_everything_reconciles(stack: Stack) -> None:
    """After all kills, nothing is lost and nothing is doubled."""
    said: list[str] = []
    code = stack.pass_through(["spark.reconcile", "--land"], said.append, said.append)
    assert (code, said[-1]) == (0, GOOD)
