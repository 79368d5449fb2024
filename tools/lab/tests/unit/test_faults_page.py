"""docs/faults.md keeps its word: each fault and invariant has a row, and what it names exists."""

import re
from pathlib import Path

import pytest

from lab.faults.cells import all_cells
from lab.faults.command import is_meant
from lab.faults.page import read_before, render

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "faults.md").read_text()
ROW = re.compile(r"^\| ([A-FI]\d+(?:\.\w+)?) \| (.+?) \| (.+) \|$", re.MULTILINE)
ROWS = {row[0]: row[2] for row in ROW.findall(PAGE)}
NOT_COVERED = "Not covered: "
CELL = re.compile(r"`([a-z*-]+\.[a-z*-]+\.[a-z*-]+)`")
TEST = re.compile(r"\[(\w+)\]\(\.\./([\w/]+/test_\w+\.py)\)")
# How many of each the catalogue has.
FAULTS = {"A": 19, "B": 35, "C": 16, "D": 34, "E": 23, "F": 9}
CRASH_POINTS = {"B1": 14, "E1": 5}
INVARIANTS = 27


def test_the_committed_page_is_made_of_the_committed_numbers() -> None:
    """Page and picture have the words of the code, and the numbers of the last run."""
    output = ROOT / "tools" / "lab" / "pages" / "faults.md"
    document = read_before(output)
    assert output.read_text() == render("page.md.j2", document, picture="faults.html")
    assert output.with_suffix(".html").read_text() == render("page.html.j2", document)


def wanted() -> set[str]:
    """Return the id of every fault and invariant."""
    faults: set[str] = set()
    for letter, count in FAULTS.items():
        faults |= numbered(letter, count)
    points = numbered("B1.CP", CRASH_POINTS["B1"]) | numbered("E1.DP", CRASH_POINTS["E1"])
    invariants = numbered("I", INVARIANTS)
    return (faults - CRASH_POINTS.keys()) | points | invariants


def numbered(prefix: str, count: int) -> set[str]:
    """Return this many ids, from 1 on."""
    return {f"{prefix}{n}" for n in range(1, count + 1)}


def test_every_fault_and_invariant_has_one_row() -> None:
    """153 faults and 27 invariants, each once."""
    assert ROWS.keys() == wanted()
    assert len(ROWS) == len(ROW.findall(PAGE)) == 153 + INVARIANTS


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_cells_and_tests_that_exist_or_says_why_not(name: str) -> None:
    """A cell of the matrix, a test in its file, or a sentence."""
    covered_by = ROWS[name]
    cells, tests = CELL.findall(covered_by), TEST.findall(covered_by)
    for pattern in cells:
        assert any(is_meant(cell, pattern) for cell in all_cells()), pattern
    for test, file in tests:
        assert f"def test_{test}(" in (ROOT / file).read_text(), test
    if covered_by.startswith(NOT_COVERED):
        assert covered_by.endswith(".")
    elif name != "I17":  # every cell
        assert cells or tests


def test_most_of_them_are_covered() -> None:
    """At least 110 faults and 26 invariants."""
    covered = [name for name, by in ROWS.items() if not by.startswith(NOT_COVERED)]
    invariants = [name for name in covered if name.startswith("I")]
    assert len(invariants) >= 26
    assert len(covered) - len(invariants) >= 110
