"""The table of public configurations: whole, and by a rule that nobody can bend afterwards."""

import csv

from pipeline_check.rules.catalog import RULES
from tests.field.score import PARTS, TABLE, cases

VERDICTS = {"", "idempotent", "not_idempotent", "refused", "depends", "not judged"}


def test_the_table_is_large_and_every_case_has_its_place_and_its_reason() -> None:
    """At least 150 out of at least 60 repositories, each with commit, expectation and reason."""
    with TABLE.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) >= 150
    assert len({row["repository"] for row in rows}) >= 60
    for row in rows:
        assert len(row["commit"]) == 40, row
        assert len(row["reason"]) > 10, row
    assert {case.verdict for case in cases()} <= VERDICTS
    assert {rule for case in cases() for rule in case.rules} <= RULES.keys()


def test_much_more_than_a_third_is_held_out() -> None:
    """By repositories: whatever is learned of one never helps with its neighbour."""
    by_part = {part: {case.repository for case in cases() if case.part == part} for part in PARTS}
    counts = [sum(case.part == part for case in cases()) for part in PARTS]
    assert sum(counts[1:]) > sum(counts) / 3
    parts = list(by_part.values())
    assert sum(map(len, parts)) == len(set().union(*parts))
