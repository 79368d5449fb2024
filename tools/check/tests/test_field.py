"""The table of public configurations: whole, and by a rule that nobody can bend afterwards."""

import csv

from pipeline_check.rules.catalog import RULES
from tests.field.score import TABLE, cases

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


def test_about_a_third_is_held_out() -> None:
    """By a hash of the repository's name: whatever is learned of one never helps with another."""
    held_out = [case for case in cases() if case.held_out]
    assert 0.2 < len(held_out) / len(list(cases())) < 0.4
    others = {case.repository for case in cases() if not case.held_out}
    assert not others & {case.repository for case in held_out}
