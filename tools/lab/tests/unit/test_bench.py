"""The bench's pure parts: arms in turn, ratios, goals, the table, and what a count leaves out."""

import json
import re
from contextlib import nullcontext
from functools import partial

import pytest

from lab.bench.command import ARMS, is_good
from lab.bench.cost import Counters, summarize
from lab.bench.latency import list_figures
from lab.bench.numbers import RATIO, Number, Target, compare, lines
from lab.bench.profile import REST, Clock
from lab.bench.unguarded import FORGETFUL, read_without_hash
from lab.bench.workers import OTHERS, describe
from lab.dedup_matrix import controls
from lab.reference_orders import BATCH, FIRST, make_batches, make_record, make_value
from ops.settings import ROOT
from ops.stack.supervisor import StackError
from service.dedup.tracking import FRESH
from service.handler import split_conflicts
from service.record import Message, read
from service.write import rows, statement


def test_arms_take_turns() -> None:
    """Every arm runs once before any runs again, so that a slow minute meets all of them."""
    ran: list[str] = []

    def run(name: str) -> float:
        ran.append(name)
        return 1.0

    arms = {name: partial(run, name) for name in ("ours", "naive")}
    compare("write", arms, {}, 2, lambda _: nullcontext())
    assert ran == ["ours", "naive", "ours", "naive"]


def test_a_place_within_another_is_not_counted_twice() -> None:
    """The seconds of all places are those that have passed, also where a step fails."""
    moments = iter([0.0, 1.0, 3.0, 7.0, 15.0, 31.0])
    clock = Clock(lambda: next(moments))

    def fail() -> None:
        raise StackError("it fails")

    with pytest.raises(StackError):
        clock.around("outer", clock.around("inner", fail))()
    clock.note()
    assert clock.seconds == {REST: 1 + 16, "outer": 2 + 8, "inner": 4}


def test_a_ratio_is_taken_round_by_round_and_then_its_median() -> None:
    """A round in which the machine was slow for both does not change the ratio."""
    ours = iter([100.0, 10.0, 300.0])
    naive = iter([10.0, 1.0, 100.0])
    arms = {"ours": lambda: next(ours), "naive": lambda: next(naive)}
    target = Target(">= 40", ">= 9")
    numbers = compare("write", arms, {"ours / naive": target}, 3, nullcontext)
    assert [(n.what, n.value) for n in numbers] == [
        ("ours", 100.0),
        ("naive", 10.0),
        ("ours / naive", 10.0),
    ]
    assert numbers[-1].rounds == [10.0, 10.0, 3.0]
    assert numbers[-1].unit == RATIO
    assert numbers[-1].reached() is False
    assert numbers[-1].holds() is True


@pytest.mark.parametrize(
    ("goal", "value", "reached"),
    [
        (">= 40", 40, True),
        (">= 0.5", 0.49, False),
        ("<= 1600", 1600, True),
        ("<= 1600", 1600.5, False),
        ("± 0.2", 0.81, True),
        ("± 0.2", 1.19, True),
        ("± 0.2", 0.79, False),
        ("± 0.2", 1.21, False),
        ("", 1, None),
    ],
)
def test_a_goal_is_reached_from_its_side(goal: str, value: float, reached: bool | None) -> None:
    """At least includes the limit, at most too; without a goal there is nothing to reach."""
    assert Number("write", "ours", value, "", goal).reached() is reached
    assert Number("write", "ours", value, "", must=goal).holds() is reached


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        pytest.param(0.75, ">= 0.75 >= 0.55 reached", id="the goal is reached"),
        pytest.param(0.6, ">= 0.75 >= 0.55 short", id="the must is kept"),
        pytest.param(0.5, ">= 0.75 >= 0.55 MISSED", id="neither"),
    ],
)
def test_the_table_has_goal_and_must_beside_each_number(value: float, verdict: str) -> None:
    """A missed must is in capitals; a number of several rounds shows its smallest and largest."""
    numbers = [
        Number("write", "ours", 12345.6, "orders/s", rounds=[11000.0, 12345.6, 13000.0]),
        Number("write", "ours / pgbench", value, RATIO, ">= 0.75", ">= 0.55", [value]),
    ]
    heading, rate, ratio = (" ".join(line.split()) for line in lines(numbers))
    assert heading == "arm what value unit goal must smallest to largest"
    assert rate == "write ours 12,346 orders/s 11,000 to 13,000"
    assert ratio == f"write ours / pgbench {value:g} times {verdict} {value:g} to {value:g}"


@pytest.mark.parametrize(("holds", "good"), [([True, None], True), ([True, False], False)])
def test_one_missed_must_is_found(holds: list[bool | None], good: bool) -> None:
    """A number without a must cannot miss one, and a missed goal alone is no failure."""
    numbers = [{"holds": one, "reached": False} for one in holds]
    assert is_good({"numbers": numbers}) is good


def test_the_reference_order_is_good_and_has_three_lines() -> None:
    """What every arm is given is fulfilled: whole batches of valid orders, none of them twice."""
    assert len(json.loads(make_value(2_000_000))["lines"]) == 3
    message_ids = set()
    for records in make_batches(2 * BATCH):
        [items] = split_conflicts(records)
        for item in items:
            assert isinstance(item, Message)
            message_ids.add(item.message_id)
    assert len(message_ids) == 2 * BATCH


def test_bytes_are_counted_without_full_page_images_and_commits_without_strangers() -> None:
    """A checkpoint before and an autovacuum in between change nothing of what a batch costs."""
    usual = Counters(1, 1, 500_000, 0)
    after_a_checkpoint = Counters(1, 1, 9_000_000, 12)
    visited = Counters(1, 3, 500_000, 0)
    batches = [after_a_checkpoint, usual, visited, usual, usual]
    assert summarize(batches) == (1, 1, 1000)


def test_too_few_batches_without_full_page_images_are_no_count() -> None:
    """No number is better than one of a few lucky batches."""
    with pytest.raises(AssertionError, match="only 1 of 2 batches"):
        summarize([Counters(1, 1, 500_000, 0), Counters(1, 1, 9_000_000, 12)])


def test_the_service_without_guarantees_remembers_and_hashes_nothing() -> None:
    """Its statement writes no tracking row, and what it reads of a record has no hash."""
    guarded = statement(FRESH).text
    unguarded = statement(controls.ALL_FRESH, FORGETFUL).text
    for part in ("insert into tracking", "handled_before"):
        assert part in guarded
        assert part not in unguarded
    item = read_without_hash(make_record(FIRST))
    assert isinstance(item, Message)
    [row] = json.loads(rows([item], rule=FORGETFUL))
    assert row["value_sha256"] is None


def test_the_service_without_guarantees_decides_the_same() -> None:
    """All else that it stores of an order is what the service stores, so that both do the work."""
    record = make_record(FIRST)
    [guarded] = json.loads(rows([read(record)]))
    [unguarded] = json.loads(rows([read_without_hash(record)], rule=FORGETFUL))
    assert unguarded == {**guarded, "value_sha256": None}


def test_a_latency_is_the_median_of_its_rounds() -> None:
    """Also of a p99: one round in which the machine stood still does not decide."""
    rounds = [{"median": 40.0, "p99": p99} for p99 in (90.0, 2000.0, 80.0)]
    middle, late = list_figures(50, rounds)
    assert (middle.value, late.value) == (40.0, 90.0)
    assert (middle.goal, late.must) == ("<= 45", "<= 130")
    assert late.rounds == [90.0, 2000.0, 80.0]


@pytest.mark.parametrize(
    ("usage", "saturated"),
    [
        ({"idle": 0.1, "service": 0.7, "connect": 1.2}, "all 2 cores saturated, most by connect"),
        ({"idle": 0.1, OTHERS: 1.2, "service": 0.7}, f"all 2 cores saturated, most by {OTHERS}"),
        ({"idle": 0.8, "service": 0.95, "connect": 0.2}, "service saturates a core"),
        ({"idle": 1.2, "service": 0.5, "connect": 0.2}, "no core saturated, the parts wait"),
    ],
)
def test_what_is_saturated_is_said(usage: dict[str, float], saturated: str) -> None:
    """All cores, or the part that fills one, or nothing that a further core would help."""
    first, *parts = describe("3 workers", [usage], cores=2)
    assert first.what == f"3 workers: {saturated}"
    assert first.value == 2 - usage["idle"]
    busiest_first = sorted(usage.values(), reverse=True)
    assert [part.value for part in parts] == [one for one in busiest_first if one != usage["idle"]]


def test_the_page_of_the_lab_says_what_each_arm_measures() -> None:
    """In the sequence in which they are measured, and none is left out."""
    page = (ROOT / "tools" / "lab" / "README.md").read_text()
    table = page.partition("## What the bench measures")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == ARMS
