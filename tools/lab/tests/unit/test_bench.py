"""The bench's pure parts: arms in turn, ratios by round, goals, the table, and what is left out of a count."""

import itertools
import json
from contextlib import nullcontext

import pytest

from lab.bench.cost import summary
from lab.bench.numbers import Number, compare, lines
from lab.bench.place import BATCH, batches, order
from service.handler import split_conflicts
from service.record import Message


def test_arms_take_turns() -> None:
    """Every arm runs once before any runs again, so that a slow minute meets all of them."""
    ran: list[str] = []
    arms = {
        name: lambda name=name: float(len(ran.append(name) or ran)) for name in ("ours", "naive")
    }  # type: ignore[func-returns-value]
    compare("write", arms, {}, 2, lambda _: nullcontext())
    assert ran == ["ours", "naive", "ours", "naive"]


def test_a_ratio_is_taken_round_by_round_and_then_its_median() -> None:
    """A round in which the machine was slow for both does not change the ratio; the medians would."""
    ours, naive = iter([100.0, 10.0, 300.0]), iter([10.0, 1.0, 100.0])
    numbers = compare(
        "write",
        {"ours": ours.__next__, "naive": naive.__next__},
        {"naive": ">= 40"},
        3,
        nullcontext,
    )
    assert [(n.what, n.value) for n in numbers] == [
        ("ours", 100.0),
        ("naive", 10.0),
        ("ours / naive", 10.0),
    ]
    assert numbers[-1].rounds == [10.0, 10.0, 3.0]
    assert numbers[-1].goal == ">= 40"


@pytest.mark.parametrize(
    ("goal", "value", "reached"),
    [
        (">= 40", 40, True),
        (">= 0.5", 0.49, False),
        ("<= 1600", 1600, True),
        ("<= 1600", 1600.5, False),
        ("", 1, None),
    ],
)
def test_a_goal_is_reached_from_its_side(goal: str, value: float, reached: bool | None) -> None:
    """At least includes the limit, at most too; without a goal there is nothing to reach."""
    assert Number("write", "ours", value, "", goal).reached() is reached


def test_the_table_has_the_goal_beside_each_number() -> None:
    """A missed goal is said aloud; a number of several rounds shows how far they lie apart."""
    numbers = [
        Number("write", "ours", 12345.6, "orders/s", rounds=[11000.0, 12345.6, 13000.0]),
        Number("write", "ours / naive", 39.94, "times", ">= 40", [39.94]),
    ]
    rate, ratio = (line.split() for line in lines(numbers))
    assert rate == ["write", "ours", "12,346", "orders/s", "11,000", "to", "13,000"]
    assert ratio == [
        "write",
        "ours",
        "/",
        "naive",
        "39.9",
        "times",
        ">=",
        "40",
        "MISSED",
        "39.9",
        "to",
        "39.9",
    ]


def test_the_reference_order_is_good_and_has_three_lines() -> None:
    """What every arm is given is fulfilled: whole batches of valid orders, none of them twice."""
    assert len(json.loads(order(2_000_000))["lines"]) == 3
    found = list(
        itertools.chain.from_iterable(
            wave for records in batches(2 * BATCH) for wave in split_conflicts(records)
        )
    )
    assert all(isinstance(item, Message) for item in found)
    assert len({item.message_id for item in found if isinstance(item, Message)}) == 2 * BATCH


def test_bytes_are_counted_without_full_page_images_and_commits_without_strangers() -> None:
    """A checkpoint shortly before and a visit of autovacuum change nothing of what a batch costs."""
    usual, after_a_checkpoint, visited = (
        (1, 1, 500_000, 0),
        (1, 1, 9_000_000, 12),
        (1, 3, 500_000, 0),
    )
    assert summary([after_a_checkpoint, usual, visited, usual, usual]) == (1, 1, 1000)


def test_too_few_batches_without_full_page_images_are_no_count() -> None:
    """Rather no number than one of a few lucky batches."""
    with pytest.raises(AssertionError, match="only 1 of 2 batches"):
        summary([(1, 1, 500_000, 0), (1, 1, 9_000_000, 12)])
