"""One outcome for each id of each hop, and the counts and findings that people read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from contract.events import ACCEPTED, EVENTS
from spark.rows.frames import query
from spark.statements import read_statements

DEFECTS = ("missing", "duplicate", "extra", "different")  # the others are below, and matched
WAITING = ("late", "parked")  # not judged yet: on its way, or behind a dead letter of its key
NOT_CHECKED = "not checked"  # the effect of an id with which nothing is left to compare
OUTCOMES = {event.outcome for event in EVENTS if event.outcome}
REJECTED = ",".join(OUTCOMES - {ACCEPTED})
STATEMENTS_FILE = Path(__file__).with_name("outcome.sql")
STATEMENTS = read_statements(STATEMENTS_FILE)

Row = dict[str, Any]


def judge(hops: DataFrame, open_source: DataFrame, not_settled: Sequence[str] = ()) -> DataFrame:
    """Return the outcome of each id of each hop; some hops may not have settled."""
    frames = {"hops": hops, "open_source": open_source}
    return query(STATEMENTS["judged"], frames, not_settled=",".join(not_settled))


def count_outcomes(judged: DataFrame) -> list[Row]:
    """Return the counts of each hop."""
    frames = {"judged": judged}
    counts = query(STATEMENTS["counts"], frames, rejected=REJECTED)
    return as_dicts(counts)


def count_open(counts: Iterable[Row]) -> int:
    """Return how many outcomes are not judged yet or a defect, or could not be found out."""
    return sum(row[name] for row in counts for name in (*DEFECTS, *WAITING, "not_checked"))


def count_not_checked(counts: Iterable[Row]) -> int:
    """Return with how many ids nothing is left to compare."""
    return sum(row["not_checked"] for row in counts)


def first_findings(judged: DataFrame) -> list[Row]:
    """Return the first twenty ids of each defect in each hop."""
    frames = {"judged": judged}
    findings = query(STATEMENTS["first_findings"], frames)
    return as_dicts(findings)


def failed_repairs(judged: DataFrame, repairs: DataFrame) -> list[Row]:
    """Return what was repaired and is a defect all the same."""
    frames = {"judged": judged, "repair": repairs}
    failed = query(STATEMENTS["failed_repairs"], frames)
    return as_dicts(failed)


def late_partitions(judged: DataFrame, input_hop: str) -> list[int]:
    """Return the partitions of the input topic that have late records."""
    frames = {"judged": judged}
    partitions = query(STATEMENTS["late_partitions"], frames, input_hop=input_hop)
    return [row.partition for row in partitions.collect()]


def as_dicts(frame: DataFrame) -> list[Row]:
    """Return the rows of a frame, each by the names of its columns."""
    rows = frame.collect()
    return [row.asDict() for row in rows]
