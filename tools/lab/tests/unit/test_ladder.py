"""The ladder's pure parts: who is struck where, what is counted, and what the pages say of it."""

from pathlib import Path
from typing import Any

import pytest

from lab.ladder.command import is_clean
from lab.ladder.count import Hop, compare
from lab.ladder.page import html, in_words, lines, markdown
from lab.ladder.steps import FAULTS, STEPS, WHOLE, plan, struck
from lab.ladder.strikes import Strikes
from ops.settings import ROOT
from ops.stack.supervisor import StackError
from tools.lab.tests.ladder import HOPS, expected

IDS = [f"m-{n}" for n in range(1000)]
PAGE = ROOT / "ops" / "ladder" / "LADDER.md"


def cell(step: int, fault: str, orders: int, verdict: str = "") -> dict[str, Any]:
    """A row of the document, as it must come out."""
    counted = {name: hop._asdict() for name, hop in expected(step, struck(fault, orders)).items()}
    scaled = {
        name: {kind: n * 10_000 / orders for kind, n in hop.items()}
        for name, hop in counted.items()
    }
    known = {"step": step, "fault": fault, "orders_per_second": 100.0, "verdict": verdict}
    return known | {"counted": counted, "per_10_000": scaled}


def document(*cells: dict[str, Any]) -> dict[str, Any]:
    """A document of these cells."""
    return {"machine": "somewhere", "orders": 1000, "strikes": 2, "seed": 1, "cells": list(cells)}


def test_the_same_seed_strikes_the_same_orders() -> None:
    """The plan is a function of its seed, and another seed gives another one."""
    assert plan("all", IDS, 1) == plan("all", IDS, 1)
    assert plan("all", IDS, 1) != plan("all", IDS, 2)


def test_no_order_is_struck_twice_nor_one_whose_ack_may_be_lost() -> None:
    """What the strikes leave adds up, because each has an order of its own."""
    victims = [name.partition(".")[2] for name in plan("all", IDS, 1)]
    assert len(set(victims)) == len(victims) == 8
    assert not set(victims) & set(IDS[:22])


def test_all_at_once_is_every_fault() -> None:
    """Each fault strikes as often as alone."""
    alone = [point for fault in FAULTS if fault != "all" for point in struck(fault, 1000)]
    assert struck("all", 1000) == alone
    assert {"ack", "end", "gap", "late", "freeze", "answer"} == set(alone)


def test_too_few_orders_are_refused_with_the_number_that_is_enough() -> None:
    """Enough is enough: with the number that the sentence names, it works."""
    with pytest.raises(StackError, match="give 15 or more"):
        plan("all", IDS[:14], 1)
    assert plan("all", IDS[:15], 1)


def test_a_strike_is_taken_once(tmp_path: Path) -> None:
    """Whoever comes by a second time passes, and other points and orders are left alone."""
    (tmp_path / "answer.m-1").touch()
    (tmp_path / "end.m-2").touch()
    strikes = Strikes(tmp_path)
    assert [strikes.awaits(name) for name in ("m-1", "m-2", "m-3")] == ["", "end", ""]
    assert not strikes.take("answer", ["m-2", "m-3"])
    assert strikes.take("answer", ["m-3", "m-1"])
    assert not strikes.take("answer", ["m-3", "m-1"])
    assert strikes.left() == ["end.m-2"]


def test_copies_and_losses_are_counted_apart() -> None:
    """Two copies too many and one loss are not one copy too many."""
    assert compare(["a", "b", "c"], ["a", "b", "a", "a"]) == Hop(doubled=2, lost=1)
    assert compare(["a"], ["a"]) == Hop(0, 0)


def test_what_nobody_sent_is_no_count_but_an_error() -> None:
    """An id of another cell would make every number wrong."""
    with pytest.raises(AssertionError, match="'z'"):
        compare(["a"], ["a", "z"])


def test_the_last_step_must_be_clean_by_both_counts() -> None:
    """A bad verdict is found, and so is a copy that the verdict does not know."""
    good = cell(WHOLE, "all", 1000, "nothing lost, nothing doubled")
    assert is_clean(document(cell(0, "all", 1000), good))
    assert not is_clean(document(good | {"verdict": "1 missing"}))
    assert not is_clean(document(good | {"counted": {"rows": {"doubled": 1, "lost": 0}}}))


def test_a_loss_is_seen_beside_a_copy() -> None:
    """Each hop that has something to tell tells it in signs; the others are not named."""
    row = {
        "per_10_000": {
            "rows": {"doubled": 20.0, "lost": 0.0},
            "events": {"doubled": 10.0, "lost": 1000.0},
        }
    }
    assert in_words(row) == "rows +20<br>events +10 −1,000"  # noqa: RUF001 - a minus


def test_what_was_not_measured_is_not_called_fine() -> None:
    """A page of two cells says so of all the others."""
    few = document(cell(2, "gap", 1000), cell(3, "none", 1000))
    [two] = [line for line in markdown(few, "x.html") if line.startswith("| (2)")]
    assert (
        two
        == "| (2) + idempotent consumer | not measured | not measured | events −20<br>audit entries +20 |"
    )
    assert html(few).count(">not measured<") == 2 * len(STEPS) - 2
    assert sum("orders/s" in line for line in lines(few)) == 2


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_the_committed_page_says_what_the_tests_expect(step: int) -> None:
    """Every cell of the page agrees with what its strikes must leave, the zeros and what is not zero."""
    [line] = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| ({step})")]
    assert line.strip("| ").split(" | ")[2:] == [
        in_words(cell(step, fault, 1000)) for fault in FAULTS
    ]
    assert set(HOPS) == set(cell(step, "none", 1000)["counted"])
