"""A few hundred orders through each outbox that can be installed here, and a kill of its relay."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from lab.environment import throwaway_stack
from lab.peers.arms import ARMS, POLLING, Arm
from lab.peers.command import FOLDER, PARTS, Plan, measure, stop_template
from lab.peers.count import Count, count
from lab.peers.environments import LeftOutError
from lab.peers.measure import RATES, WARM_UP, make_orders, measure_kill, trial
from lab.peers.peer import run_peer
from ops.settings import ROOT, Settings
from ops.stack.stack import Stack, silently
from ops.stack.supervisor import until

pytestmark = pytest.mark.prove

ORDERS = 300
SEED = 1
SECONDS = 90
MOST_LATER = 10_000
SETTINGS = Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")
MARKS_FIRST = replace(POLLING, relay=["tools.lab.tests.marks_first"])


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A stack of its own, with the topics of all arms."""
    with throwaway_stack(SETTINGS, silently, FOLDER, PARTS, services=1, adopt="outbox") as found:
        stop_template(found, list(ARMS.values()))
        yield found


def python_of(arm: Arm) -> Path:
    """Return the Python of an arm; without one, the test has nothing to measure."""
    try:
        return arm.python(SETTINGS.jars.with_name("peers"))
    except LeftOutError as reason:
        pytest.skip(f"{arm.name}: {reason}")


@pytest.mark.parametrize("name", ARMS)
def test_each_outbox_publishes_each_order_at_least_once(stack: Stack, name: str) -> None:
    """Under full load, at 50 orders a second, and after its relay was killed."""
    arm = ARMS[name]
    plan = Plan(ORDERS, 1, SEED)
    row = measure(stack, silently, arm, python_of(arm), plan, 0)
    loads, kill = row["loads"], row["kill"]
    assert row["orders_per_second"] > 1, row
    assert all(row[name] > 0 for name in ("memory_mb", "log_bytes", "disk_bytes")), row
    assert all(0 < load["median"] <= load["p99"] for load in loads), row
    assert [load["rate"] for load in loads] == list(RATES[: len(loads)]), row
    assert kill["orders"] == ORDERS, row
    assert kill["lost"] == 0, row


def test_a_young_connector_of_the_example_loses_what_comes_while_it_is_dead(stack: Stack) -> None:
    """Before it has stored an offset, it begins with a snapshot again, of a table that is empty."""
    arm = ARMS["debezium"]
    orders = make_orders(SEED, 5, ORDERS)
    with trial(stack, arm, python_of(arm), 4) as tried:
        stack.kill(tried.live.relay.name)
        for order in orders:
            tried.live.send(order)
        all_there = WARM_UP + len(orders)
        assert until(lambda: tried.live.written() == all_there, SECONDS), tried.live.written()
        tried.live.relay.again()
        later = iter(make_orders(SEED, 6, MOST_LATER))

        def has_come_back() -> bool:
            tried.live.send(next(later))
            tried.arrivals.read_some()
            return any(name.startswith("p6-") for name in tried.arrivals.first)

        assert until(has_come_back, SECONDS), f"nothing is published {SECONDS} s after the start"
        tried.arrivals.read_to_end(SECONDS)
        found = count([order.order_id for order in orders], tried.arrivals.times)
    assert found == Count(lost=ORDERS, doubled=0, copies=0, orders=ORDERS)


def test_control_a_relay_that_marks_before_it_publishes_loses(stack: Stack) -> None:
    """What was marked when it was killed is counted as lost."""
    arm = replace(ARMS["polling"], run=partial(run_peer, MARKS_FIRST))
    with trial(stack, arm, python_of(arm), 3) as tried:
        kill = measure_kill(tried, make_orders(SEED, 4, ORDERS + 1), SEED)
    assert kill.counted.lost > 0, kill
    assert kill.counted.orders == ORDERS
