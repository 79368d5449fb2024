"""The job that looks after the lake: small files become large ones, and old ones go."""

import argparse
import json
import os
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from delta.tables import DeltaTable
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark.lease import hold_lease
from spark.retiring.old_runs import delete_old_runs
from spark.session import describe, exit_with_error, locate, log_progress, make_session
from spark.settings import Settings

FAILURES = (PySparkException, Py4JError, OSError)  # what Spark, its JVM or a file may raise
MEBIBYTE = 1024 * 1024
# A file of this size stays as it is: each run writes again at most this much of each table.
LARGE_ENOUGH = 64 * MEBIBYTE
LARGEST = 128 * MEBIBYTE
AT_ONCE = 2  # tables: much of the work is planning, which one thread does
NICENESS = 10  # a tenth of the time that it would have among equals


class Files(NamedTuple):
    """How many data files a table had and has."""

    before: int
    after: int


class Compacted(NamedTuple):
    """What became of a lake."""

    tables: Mapping[str, Files]
    reports_deleted: int


def main() -> None:
    """Make few large files of the many small ones that landing writes.

    Files that no version of a table has had for COMPACT_KEEP_HOURS are deleted, and what
    reconciliations have left that are older than RECONCILE_KEEP_DAYS. Run it once an hour, or once
    a day. Landing, reconciling and reading go on.
    """
    parser = argparse.ArgumentParser(prog="python -m spark.compact", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON for a program to read")
    arguments = parser.parse_args()
    settings = Settings()
    give_way()
    try:
        spark = make_session("compact", settings.spark_jars_dir)
        with hold_lease(spark, settings.delta_root, "compact"):
            compacted = compact_lake(spark, settings)
    except BlockingIOError:
        exit_with_error(f"another run compacts {settings.delta_root}: wait for it")
    except FAILURES as error:
        exit_with_error(
            f"compacting has ended: {describe(error)}; run it again: no row has changed"
        )
    print(as_json(compacted) if arguments.json else say(compacted))  # noqa: T201 - the result


def give_way() -> None:
    """Leave most of the processor to landing, where both want it; what this starts does so, too.

    Linux may divide the time among sessions first, all alike however nice their processes are. Then
    the session has to be nice, unless it is that of somebody's terminal.
    """
    os.nice(NICENESS)
    has_own_session = os.getsid(0) == os.getpid()
    if has_own_session:
        with suppress(OSError):  # no such file: here, sessions do not count
            Path("/proc/self/autogroup").write_text(str(NICENESS))


def compact_lake(spark: SparkSession, settings: Settings) -> Compacted:
    """Delete old results, and compact every table of the lake."""
    reports_deleted = delete_old_runs(spark, settings.delta_root, settings.reconcile_keep_days)
    spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(LARGE_ENOUGH))
    spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(LARGEST))
    tables = find_tables(spark, settings.delta_root)

    def compact(name: str) -> Files:
        files = compact_table(spark, tables[name], settings.compact_keep_hours)
        log_progress(say_files(name, files))
        return files

    with ThreadPoolExecutor(AT_ONCE) as threads:
        counts = threads.map(compact, tables)
        found = dict(zip(tables, counts, strict=True))
    return Compacted(found, reports_deleted)


def find_tables(spark: SparkSession, delta_root: str) -> dict[str, str]:
    """Return the path of every Delta table of a lake: in its folder, or in a folder of that."""
    files, root = locate(spark, delta_root)
    folders = {}
    for folder in folders_in(files, root):
        name = folder.getName()
        folders[name] = str(folder)
        for inner in folders_in(files, folder):
            folders[f"{name}/{inner.getName()}"] = str(inner)
    return {
        name: path for name, path in sorted(folders.items()) if DeltaTable.isDeltaTable(spark, path)
    }


def folders_in(files: Any, path: Any) -> list[Any]:
    """Return the folders in a folder; Hadoop's patterns would start a process for each file."""
    return [status.getPath() for status in files.listStatus(path) if status.isDirectory()]


def compact_table(spark: SparkSession, path: str, keep_hours: float) -> Files:
    """Make large files of a table's small ones, and delete what no version has had for so long."""
    table = DeltaTable.forPath(spark, path)
    [(done,)] = table.optimize().executeCompaction().select("metrics").collect()
    table.vacuum(keep_hours)
    before = done.totalConsideredFiles
    return Files(before, before - done.numFilesRemoved + done.numFilesAdded)


def as_json(compacted: Compacted) -> str:
    """Return the counts of each table for a program."""
    tables = {name: counts._asdict() for name, counts in compacted.tables.items()}
    return json.dumps({"tables": tables, "reports_deleted": compacted.reports_deleted})


def say(compacted: Compacted) -> str:
    """Return a line for each table whose files have changed, one for all, and one for reports."""
    lines = []
    for name, counts in compacted.tables.items():
        if counts.before != counts.after:
            lines.append(say_files(name, counts))
    tables = f"{len(compacted.tables)} tables"
    total = add(compacted.tables.values())
    lines.append(say_files(tables, total))
    if compacted.reports_deleted:
        lines.append(f"{compacted.reports_deleted:,} old reports are deleted")
    return "\n".join(lines)


def add(counts: Collection[Files]) -> Files:
    """Return how many files all tables had and have together."""
    before = sum(table.before for table in counts)
    after = sum(table.after for table in counts)
    return Files(before, after)


def say_files(what: str, files: Files) -> str:
    """Return how many files something had and has."""
    return f"{what}: {files.before:,} files, now {files.after:,}"


if __name__ == "__main__":
    main()
