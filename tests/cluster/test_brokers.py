"""Brokers that die and come back under load: nothing is lost or doubled, and little is waited."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from ops.stack.stack import Stack
from tests.client import exactly_one, query, until, until_handled
from tests.cluster import roles
from tests.e2e.test_outages import assert_all_published
from tests.load import load, orders

pytestmark = pytest.mark.prove
LONGEST_GAP = 10.0  # seconds, in which the service handles nothing although orders wait


class Gaps:
    """How long nothing was handled, as somebody sees it who counts rows."""

    def __init__(self) -> None:
        self.longest = 0.0


@contextmanager
def measured() -> Iterator[Gaps]:
    """Count what is handled while the block runs."""
    gaps, done = Gaps(), Event()

    def count() -> None:
        before, since = 0, time.monotonic()
        while not done.wait(0.05):
            [(now,)] = query("select count(*) from tracking")
            if now != before:
                before, since = now, time.monotonic()
            gaps.longest = max(gaps.longest, time.monotonic() - since)

    thread = Thread(target=count)
    thread.start()
    try:
        yield gaps
    finally:
        done.set()
        thread.join()


def until_handled_again(since: int) -> None:
    """Wait until the service has gone on."""
    until(count_handled, lambda now: now > since + 100, 60, "nothing is handled any more")


def count_handled() -> int:
    """Return how many orders were handled."""
    [(count,)] = query("select count(*) from tracking")
    return int(count)


@pytest.mark.parametrize(
    "find", [roles.leader, roles.coordinator, roles.quorum_leader], ids=lambda find: find.__name__
)
def test_one_broker_killed_costs_seconds_and_no_order(
    stack: Stack, find: Callable[[Stack], str]
) -> None:
    """Whatever it was to the others: the service goes on within ten seconds."""
    name = find(stack)
    with load(bursts=2_000, pause=0.02) as ids:
        before = count_handled()
        with measured() as gaps:
            stack.kill(name)
            until_handled_again(before)
            until_handled_again(count_handled())
        stack.start(name)
    until_handled()
    exactly_one(ids)
    assert_all_published(ids)
    roles.until_all_are_back()
    assert gaps.longest < LONGEST_GAP


def test_two_brokers_killed_are_an_outage_and_no_loss(stack: Stack) -> None:
    """Nothing is acknowledged by one alone; when they are back, everything goes on by itself."""
    with load(bursts=2_000, pause=0.02) as ids:
        for name in ("kafka-2", "kafka-3"):
            stack.kill(name)
        until(
            lambda: count_handled() == count_after_a_second(),
            bool,
            60,
            "one broker alone acknowledges",
        )
        for name in ("kafka-2", "kafka-3"):
            stack.start(name)
        until_handled_again(count_handled())
    until_handled(120)
    exactly_one(ids)
    assert_all_published(ids)
    roles.until_all_are_back()


def count_after_a_second() -> int:
    """Return how many orders were handled, when whatever was in progress has ended."""
    Event().wait(1)
    return count_handled()


def test_brokers_that_start_again_one_by_one_are_not_noticed(stack: Stack) -> None:
    """Each is waited for until its copies are complete; the service has no outage of seconds."""
    with load(bursts=4_000, pause=0.02) as ids, measured() as gaps:
        for name in ("kafka", "kafka-2", "kafka-3"):
            stack.restart(name)
            roles.until_all_are_back()
    until_handled()
    exactly_one(ids)
    assert_all_published(ids)
    assert gaps.longest < LONGEST_GAP


def test_control_a_gap_is_seen(stack: Stack) -> None:
    """Where all services stand still, the gap is as long as they do."""
    names = ("service", "service-2", "service-3")
    with measured() as gaps:
        for name in names:
            stack.stop(name)
        waiting = orders(20)
        until(lambda: gaps.longest, lambda longest: longest > LONGEST_GAP, 60, "no gap was seen")
        for name in names:
            stack.start(name)
    until_handled()
    exactly_one(waiting)
