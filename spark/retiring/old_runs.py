"""What earlier reconciliations have left: their reports, their outcomes, and a row for each run."""

from datetime import UTC, datetime, timedelta

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark.session import locate

RUN_ID = "%Y%m%dT%H%M%S"  # how the id of a run begins


def find_old_runs(spark: SparkSession, delta_root: str, keep_days: float) -> list[datetime]:
    """Return when the runs began that have left a report and are older than this."""
    files, folder = locate(spark, f"{delta_root}/reconcile/report")
    found = files.listStatus(folder) if files.exists(folder) else []
    began = []
    for status in found:
        name = status.getPath().getName()
        began.append(datetime.strptime(name[:15], RUN_ID).replace(tzinfo=UTC))
    began.sort()
    cutoff = datetime.now(UTC) - timedelta(days=keep_days)
    return [moment for moment in began[:-1] if moment < cutoff]


def delete_old_runs(spark: SparkSession, delta_root: str, keep_days: float) -> int:
    """Delete what runs have left that are older than this; return how many reports are gone.

    The latest run that compared anything stays, however old it is: repair works on it.
    """
    root = f"{delta_root}/reconcile"
    runs = f"{root}/run"
    if not DeltaTable.isDeltaTable(spark, runs):
        return 0
    cutoff = (datetime.now(UTC) - timedelta(days=keep_days)).strftime(RUN_ID)
    compared = spark.read.format("delta").load(runs).where("hops <> '[]'")
    [(latest,)] = compared.selectExpr("coalesce(max(run_id), '')").collect()
    is_old = f"run_id < '{cutoff}' and run_id <> '{latest}'"
    deleted = delete_reports(spark, f"{root}/report", cutoff, latest)
    for name in ("outcome", "open", "open_landed", "horizon", "run", "retention"):
        path = f"{root}/{name}"
        if DeltaTable.isDeltaTable(spark, path):
            DeltaTable.forPath(spark, path).delete(is_old)
    return deleted


def delete_reports(spark: SparkSession, folder: str, cutoff: str, latest: str) -> int:
    """Delete the reports of runs before the cutoff, but that of the latest run."""
    files, path = locate(spark, folder)
    found = files.listStatus(path) if files.exists(path) else []
    deleted = 0
    for status in found:
        report = status.getPath()
        run_id = report.getName().removesuffix(".html")
        if run_id < cutoff and run_id != latest:
            files.delete(report, False)
            deleted += 1
    return deleted
