"""Compaction: fewer files, the same rows, and nobody is in anybody's way."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import psutil
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import DataFrame, SparkSession

from spark.compact import Compacted, Files, compact_lake, compact_table, say
from spark.lake.landed_tables import PROPERTIES, table_path
from spark.landing.landing_query import append_batch, start_landing
from tests.client import until
from tests.spark.topics import Topics, land_once, rows_of

BATCHES = 3


def land_in_batches(spark: SparkSession, topics: Topics, delta_root: Path) -> None:
    """Land a record a batch, so that each has a file of its own."""
    first, _ = topics.names
    for _ in range(BATCHES):
        topics.send(first, 1)
        land_once(spark, topics, delta_root)


def files_of(delta_root: Path, topic: str) -> set[str]:
    """Return the data files of a table's latest version, as a reader finds them."""
    return set(DeltaTable(delta_root / "landed" / topic).file_uris())


def files_on_disk(delta_root: Path, topic: str) -> int:
    """Return how many data files lie in a table's folder."""
    return len(list((delta_root / "landed" / topic).glob("*.parquet")))


def test_compacting_leaves_every_row_as_it_is(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """Many files become one, in every table of the lake; what reads an old version still can."""
    first, _ = topics.names
    land_in_batches(spark, topics, tmp_path)
    before = rows_of(tmp_path, first)
    earlier = DeltaTable(tmp_path / "landed" / first)

    files = compact_lake(spark, topics.settings(tmp_path)).tables

    assert files[f"landed/{first}"] == Files(BATCHES, 1)
    assert "topic" in files
    assert rows_of(tmp_path, first) == before
    counting = QueryBuilder().register("earlier", earlier).execute("select * from earlier")
    assert len(counting.read_all()) == len(before) == BATCHES


@pytest.mark.prove
def test_what_is_large_enough_is_not_written_again(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """A second run has nothing to do; and a file above the limit stays beside the new one."""
    first, _ = topics.names
    land_in_batches(spark, topics, tmp_path)
    settings = topics.settings(tmp_path)
    compact_lake(spark, settings)
    once = files_of(tmp_path, first)
    assert compact_lake(spark, settings).tables[f"landed/{first}"] == Files(1, 1)
    assert files_of(tmp_path, first) == once

    topics.send(first, 1)
    land_once(spark, topics, tmp_path)
    spark.conf.set("spark.databricks.delta.optimize.minFileSize", "1")
    compact_table(spark, table_path(str(tmp_path), first), 168)
    assert files_of(tmp_path, first) > once


def test_what_no_version_has_is_deleted_only_when_it_is_old(
    spark: SparkSession, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were replaced stay for the readers of before; later they go."""
    first, _ = topics.names
    land_in_batches(spark, topics, tmp_path)
    compact_lake(spark, topics.settings(tmp_path))
    assert files_on_disk(tmp_path, first) > BATCHES

    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        compact_table(spark, table_path(str(tmp_path), first), 0)
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert files_on_disk(tmp_path, first) == 1
    assert len(rows_of(tmp_path, first)) == BATCHES


def test_landing_goes_on_meanwhile(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """A batch that began before a compaction and ends after it lands all the same."""
    first, _ = topics.names
    land_in_batches(spark, topics, tmp_path)
    topics.send(first, 4)
    settings = topics.settings(tmp_path)
    has_begun, goes_on = Event(), Event()

    def append_later(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        has_begun.set()
        assert goes_on.wait(60)
        append_batch(rows, path, query_id, batch_id)

    query = start_landing(spark, settings, topics.names, once=True, append=append_later)
    assert has_begun.wait(60)
    compact_lake(spark, settings)
    goes_on.set()
    query.awaitTermination()
    landed = topics.landed(tmp_path)[first]
    assert sorted(landed) == sorted([(0, n) for n in range(BATCHES + 2)] + [(1, 0), (1, 1)])


def test_a_landed_table_keeps_its_log_for_a_week(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """And statistics of its position only: those of keys and values would help nobody."""
    first, _ = topics.names
    topics.send(first, 1)
    land_once(spark, topics, tmp_path)
    table = DeltaTable(tmp_path / "landed" / first)
    assert table.metadata().configuration == PROPERTIES
    [added] = [
        json.loads(line)["add"]
        for line in newest_log(tmp_path, first).read_text().splitlines()
        if "add" in json.loads(line)
    ]
    assert set(json.loads(added["stats"])["minValues"]) == {
        "topic",
        "partition",
        "offset",
        "timestamp",
    }


def newest_log(delta_root: Path, topic: str) -> Path:
    """Return the file of a table's log that is the latest version."""
    return max((delta_root / "landed" / topic / "_delta_log").glob("*.json"))


def test_the_result_names_the_tables_that_have_changed() -> None:
    """And how many files there are in all."""
    tables = {"landed/a": Files(1_200, 2), "topic": Files(1, 1)}
    assert say(Compacted(tables, reports_deleted=0)) == (
        "landed/a: 1,200 files, now 2\n2 tables: 1,201 files, now 3"
    )
    assert say(Compacted({}, reports_deleted=8)).endswith("\n8 old reports are deleted")


def test_the_command_prints_its_result_and_nothing_else(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """A program can read it: what Delta prints of each VACUUM is not between its lines."""
    first, _ = topics.names
    land_in_batches(spark, topics, tmp_path)
    argv = [sys.executable, "-m", "spark.compact", "--json"]
    env = os.environ | {"DELTA_ROOT": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout)["tables"][f"landed/{first}"] == {"before": BATCHES, "after": 1}
    assert "Deleted 0 files" in done.stderr, "Delta has printed nothing: this proved nothing"


# A process on one processor that says how it began, and is never done.
BUSY = """
import os
from spark.compact import give_way
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
{first}
print(flush=True)
while True:
    pass
"""
AT_WORK_SECONDS = 1.0  # of processor time: then shares can be told apart


@contextmanager
def busy(first: str) -> Iterator[psutil.Process]:
    """Run a process that wants all of a processor, in a session of its own as a job's."""
    argv = [sys.executable, "-c", BUSY.replace("{first}", first)]
    with subprocess.Popen(argv, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield psutil.Process(process.pid)
        finally:
            process.kill()


def processor_seconds(process: psutil.Process) -> float:
    """Return how long a process has had a processor."""
    times = process.cpu_times()
    return float(times.user + times.system)


def share_beside_another(first: str) -> float:
    """Return a process's share of the processor that another one wants as much."""
    with busy("pass") as other, busy(first) as process:
        before = processor_seconds(process)
        goal = processor_seconds(other) + AT_WORK_SECONDS
        until(lambda: processor_seconds(other), lambda now: now >= goal, 60, "it does not work")
        got = processor_seconds(process) - before
    return got / (got + AT_WORK_SECONDS)


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="nothing keeps two processes on one processor here"
)
def test_compaction_leaves_the_processor_to_landing() -> None:
    """Where another process wants it, it gets little of it; the control gets half."""
    assert share_beside_another("give_way()") < 0.25
    assert share_beside_another("pass") > 0.35
