"""The table of public configurations: whole, and by a rule that nobody can bend afterwards."""

import csv
from collections import defaultdict

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
    learned_from, *_ = PARTS
    table = list(cases())
    held_out = [case for case in table if case.part != learned_from]
    assert len(held_out) > len(table) / 3
    parts_of: dict[str, set[str]] = defaultdict(set)
    for case in table:
        parts_of[case.repository].add(case.part)
    in_two_parts = {name: parts for name, parts in parts_of.items() if len(parts) > 1}
    assert in_two_parts == {}
