"""The ladder's pure parts: which orders meet which faults, what is counted, what pages say."""

import os
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from lab.ladder.command import append_row, is_clean, read_rows, scale
from lab.ladder.count import Hop, compare
from lab.ladder.fault_plan import write_plan
from lab.ladder.faulty_service import add_faults
from lab.ladder.page import in_words, lines, render
from lab.ladder.page import write as write_pages
from lab.ladder.steps import FAULTS, STEPS, WHOLE, fault_points, plan_faults
from ops.stack.supervisor import StackError
from service.handler import Steps
from tools.lab.tests.ladder import HOPS, expected

IDS = [f"m-{n}" for n in range(1000)]
PAGE = Path(__file__).parents[2] / "pages" / "ladder.md"


def cell(step: int, fault: str, orders: int, verdict: str = "") -> dict[str, Any]:
    """Return a row of the document, as it must come out."""
    hops = expected(step, fault_points(fault, orders))
    counted = {name: hop._asdict() for name, hop in hops.items()}
    return {
        "step": step,
        "fault": fault,
        "orders_per_second": 100.0,
        "verdict": verdict,
        "counted": counted,
        "per_10_000": {name: scale(hop, orders) for name, hop in counted.items()},
    }


def document(*cells: dict[str, Any]) -> dict[str, Any]:
    """Return a document of these cells."""
    return {"machine": "somewhere", "orders": 1000, "times": 2, "seed": 1, "cells": list(cells)}


def test_the_same_seed_gives_the_same_faults() -> None:
    """The plan is a function of its seed, and another seed gives another one."""
    assert plan_faults("all", IDS, 1) == plan_faults("all", IDS, 1)
    assert plan_faults("all", IDS, 1) != plan_faults("all", IDS, 2)


def test_no_order_meets_two_faults_nor_one_whose_ack_may_be_lost() -> None:
    """What the faults leave adds up, because each has an order of its own."""
    victims = [name.partition(".")[2] for name in plan_faults("all", IDS, 1)]
    assert len(set(victims)) == len(victims) == 12
    assert not set(victims) & set(IDS[:22])


def test_all_at_once_is_every_fault() -> None:
    """Each fault happens as often as alone."""
    alone: list[str] = []
    for fault in FAULTS:
        if fault != "all":
            alone += fault_points(fault, 1000)
    assert fault_points("all", 1000) == alone
    points = {"ack", "end", "gap", "late", "freeze", "answer", "post-first", "post-last"}
    assert points == set(alone)


def test_too_few_orders_are_refused_with_the_number_that_is_enough() -> None:
    """With the number that the sentence names, it works."""
    with pytest.raises(StackError, match="give 17 or more"):
        plan_faults("all", IDS[:16], 1)
    assert plan_faults("all", IDS[:17], 1)


def test_a_fault_happens_once(tmp_path: Path) -> None:
    """It is not due a second time, and other points and orders are left alone."""
    plan = write_plan(tmp_path / "plan", ["answer.m-1", "end.m-2"])
    assert [plan.point_of(name) for name in ("m-1", "m-2", "m-3")] == ["", "end", ""]
    assert not plan.take("answer", ["m-2", "m-3"])
    assert plan.take("answer", ["m-3", "m-1"])
    assert not plan.take("answer", ["m-3", "m-1"])
    assert plan.left() == ["end.m-2"]


@pytest.mark.parametrize("step", Steps._fields)
def test_the_faulty_service_keeps_every_step_of_the_real_one(tmp_path: Path, step: str) -> None:
    """A step with a fault before it calls the real one; every other step is the real one."""
    calls: list[Any] = []
    real = Steps(*(partial(called, calls, name) for name in Steps._fields))
    faulty = add_faults(real, write_plan(tmp_path / "plan", []))
    argument: Any = {} if step == "mark" else []
    getattr(faulty, step)(argument)
    assert calls == [(step, argument)]


def called(calls: list[Any], name: str, argument: Any) -> Any:
    """Note the call."""
    calls.append((name, argument))


def test_a_fault_comes_before_the_real_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is killed when only the mark of another batch was made."""
    killed: list[Any] = []

    def kill(*call: int) -> None:
        killed.append((*call, list(calls)))

    monkeypatch.setattr("os.kill", kill)
    calls: list[Any] = []
    real = Steps(*(partial(called, calls, name) for name in Steps._fields))
    faulty = add_faults(real, write_plan(tmp_path / "plan", ["end.m-1"]))
    faulty.mark({"m-2": None})
    assert not killed
    faulty.mark({"m-1": None})
    before = [("mark", {"m-2": None})]
    assert killed == [(os.getpid(), SIGKILL, before)]


def test_copies_and_losses_are_counted_apart() -> None:
    """Two copies too many and one loss are not one copy too many."""
    assert compare(["a", "b", "c"], ["a", "b", "a", "a"]) == Hop(doubled=2, lost=1)
    assert compare(["a"], ["a"]) == Hop(0, 0)


def test_what_nobody_sent_is_no_count_but_an_error() -> None:
    """An id of another cell would make every number wrong."""
    with pytest.raises(AssertionError, match="'z'"):
        compare(["a"], ["a", "z"])


def test_a_run_goes_on_with_its_own_cells_only(tmp_path: Path) -> None:
    """A cell of another seed, or of other orders, is measured again."""
    file = tmp_path / "ladder.jsonl"
    run = {"orders": 1000, "times": 2, "seed": 1}
    assert read_rows(file, run) == {}
    for other in ({}, {"seed": 2}, {"orders": 500}):
        append_row(file, run | other | {"step": 1 + len(other), "fault": "gap"})
    assert list(read_rows(file, run)) == [(1, "gap")]


def test_the_last_step_must_be_clean_by_both_counts() -> None:
    """A bad verdict is found, and so is a copy that the verdict does not know."""
    good = cell(WHOLE, "all", 1000, "nothing lost, nothing doubled")
    assert is_clean(document(cell(0, "all", 1000), good))
    assert not is_clean(document(good | {"verdict": "1 missing"}))
    assert not is_clean(document(good | {"counted": {"rows": {"doubled": 1, "lost": 0}}}))


def test_a_loss_is_seen_beside_a_copy() -> None:
    """A hop where something was doubled or lost says so in signs; the others are not named."""
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
    page = render("page.md.j2", few, picture="x.html").splitlines()
    [two] = [line for line in page if line.startswith("| (2)")]
    assert two.strip("| ").split(" | ") == [
        "(2) + idempotent consumer",
        "not measured",
        "not measured",
        "events −20<br>audit entries +20",  # noqa: RUF001 - a minus
    ]
    assert render("page.html.j2", few).count(">not measured<") == 2 * len(STEPS) - 2
    assert sum("orders/s" in line for line in lines(few)) == 2


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_the_committed_page_says_what_the_tests_expect(step: int) -> None:
    """Every cell of the page is what its faults must leave, the zeros and what is not zero."""
    [line] = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| ({step})")]
    assert line.strip("| ").split(" | ")[2:] == [
        in_words(cell(step, fault, 1000)) for fault in FAULTS
    ]
    assert set(HOPS) == set(cell(step, "none", 1000)["counted"])


def test_the_committed_page_has_the_words_of_the_code(tmp_path: Path) -> None:
    """Introduction and titles on the page are those of the code; only numbers may differ."""
    cells = [cell(step, fault, 1000) for step in range(len(STEPS)) for fault in FAULTS]
    write_pages(document(*cells), tmp_path / "ladder.md")
    made = (tmp_path / "ladder.md").read_text().splitlines()
    committed = PAGE.read_text().splitlines()
    assert [line.split(" | ")[0] for line in committed[:-1]] == [
        line.split(" | ")[0] for line in made[:-1]
    ]
