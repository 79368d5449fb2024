"""Results of reconciliation go when they are old, but never those that repair works on."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from spark.retiring.old_runs import RUN_ID, delete_old_runs
from spark.session import make_frame

COMPARED, BEHIND = '[{"hop": "a"}]', "[]"


def run_of(days_ago: float) -> str:
    """Return the id of a run so many days ago."""
    return f"{datetime.now(UTC) - timedelta(days=days_ago):{RUN_ID}}.000000Z"


def leave(spark: SparkSession, lake: Path, runs: Sequence[tuple[str, str]]) -> None:
    """Leave what such runs leave: a row, an outcome and a report each."""
    folder = lake / "reconcile"
    made = make_frame(spark, runs, "run_id string, hops string")
    made.write.format("delta").save(str(folder / "run"))
    made.selectExpr("run_id", "'a' as hop").write.format("delta").save(str(folder / "outcome"))
    (folder / "report").mkdir()
    for run_id, _ in runs:
        (folder / "report" / f"{run_id}.html").write_text("a report")


def left(spark: SparkSession, lake: Path) -> list[set[str]]:
    """Return which runs still have a row, an outcome and a report."""
    folder = lake / "reconcile"
    found = []
    for name in ("run", "outcome"):
        rows = spark.read.format("delta").load(str(folder / name)).select("run_id").collect()
        found.append({row.run_id for row in rows})
    reports = {file.stem for file in (folder / "report").glob("*.html")}
    return [*found, reports]


def test_what_is_older_goes(spark: SparkSession, tmp_path: Path) -> None:
    """Of a run go its row, its outcomes and its report; younger ones keep all three."""
    old, young = run_of(11), run_of(9)
    leave(spark, tmp_path, [(old, COMPARED), (young, COMPARED)])
    assert delete_old_runs(spark, str(tmp_path), keep_days=10) == 1
    assert left(spark, tmp_path) == [{young}] * 3
    assert delete_old_runs(spark, str(tmp_path), keep_days=10) == 0


def test_the_latest_run_that_compared_anything_stays(spark: SparkSession, tmp_path: Path) -> None:
    """Repair reads its findings, also when later runs found the landing behind."""
    latest, behind = run_of(30), run_of(20)
    leave(spark, tmp_path, [(run_of(40), COMPARED), (latest, COMPARED), (behind, BEHIND)])
    assert delete_old_runs(spark, str(tmp_path), keep_days=10) == 2
    assert left(spark, tmp_path) == [{latest}] * 3


def test_a_lake_without_runs_has_nothing_to_delete(spark: SparkSession, tmp_path: Path) -> None:
    """Compaction may come before the first reconciliation."""
    assert delete_old_runs(spark, str(tmp_path), keep_days=10) == 0
