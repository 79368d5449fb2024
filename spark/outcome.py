"""One outcome for each id of each hop, and the counts and findings that people read."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from contract.events import ACCEPTED, EVENTS
from spark.frames import query
from spark.statements import read_statements

DEFECTS = ("missing", "duplicate", "extra", "different")  # the other outcomes are matched and late
STATEMENTS = read_statements(Path(__file__).with_name("outcome.sql"))

Row = dict[str, Any]


def judge(hops: DataFrame, late: DataFrame) -> DataFrame:
    """Return the outcome of each id of each hop."""
    return query(STATEMENTS["judged"], {"hops": hops, "late": late})


def count_outcomes(judged: DataFrame) -> list[Row]:
    """Return the counts of each hop."""
    outcomes = {event.outcome for event in EVENTS if event.outcome}
    rejected = ",".join(outcomes - {ACCEPTED})
    statement = STATEMENTS["counts"]
    counts = query(statement, {"judged": judged}, rejected=rejected)
    return [row.asDict() for row in counts.collect()]


def first_findings(judged: DataFrame) -> list[Row]:
    """Return the first twenty ids of each defect in each hop."""
    statement = STATEMENTS["first_findings"]
    findings = query(statement, {"judged": judged})
    return [row.asDict() for row in findings.collect()]
