"""What landed rows, files and logs take, measured with the jobs' own code in this process."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lab.size.constants import Lake
from spark.archive import use_archive
from spark.compact import LARGE_ENOUGH, LARGEST, compact_table
from spark.lake.landed_tables import PROPERTIES as LANDED
from spark.lake.landed_tables import make_tables, table_path
from spark.land import land
from spark.landing.landing_query import append_batch, hold_landing
from spark.session import jars_folder, make_session
from spark.settings import Settings
from spark.topics import topics_to_land

FEW = 10  # records of a small file
CHECKPOINTS = (10, 20, 30)  # versions at which Delta writes a checkpoint of the table beside
PROPERTIES = {"minFileSize": LARGE_ENOUGH, "maxFileSize": LARGEST}


class Beside(NamedTuple):
    """A table of small files."""

    path: Path
    compacted: int  # the version after its compaction

    @property
    def log(self) -> Path:
        """Return the folder of its commits and checkpoints."""
        return self.path / "_delta_log"


def measure_lake(env: Mapping[str, str], topics: Sequence[str], partitions: int) -> Lake:
    """Land everything once, compact it, and append few rows again and again to a table beside."""
    os.environ.update(env)
    settings = Settings()
    with session(settings) as spark:
        land_once(spark, settings)
        files = [count_files(settings, topic) for topic in topics]
        rows = {topic: row_bytes(spark, settings, topic) for topic in topics}
        beside = append_little(spark, settings, topics[0], partitions)
    small = [file.stat().st_size for file in beside.path.glob("*.parquet")]
    commits = [file.stat().st_size for file in beside.log.glob("0*.json")]
    entry_bytes, tombstone_bytes = weigh_entries(beside, partitions)
    return Lake(
        row_bytes=rows,
        file_bytes=median(small) - FEW * rows[topics[0]],
        files_of_partition=sum(files) / len(files) / partitions,
        commit_bytes=median(commits),
        entry_bytes=entry_bytes,
        tombstone_bytes=tombstone_bytes,
    )


@contextmanager
def session(settings: Settings) -> Iterator[SparkSession]:
    """Have a session as the jobs have it."""
    jars = jars_folder(settings.spark_jars_dir)
    spark = make_session("size", jars, use_archive(jars))
    for name, value in PROPERTIES.items():
        spark.conf.set(f"spark.databricks.delta.optimize.{name}", str(value))
    try:
        yield spark
    finally:
        spark.stop()


def land_once(spark: SparkSession, settings: Settings) -> None:
    """Do what `pipeline land` does."""
    topics = topics_to_land(settings, []).all()
    with hold_landing(spark, settings, topics) as lease:
        land(spark, settings, topics, lease, once=True)


def count_files(settings: Settings, topic: str) -> int:
    """Return how many files a landed table has now."""
    return len(DeltaTable(table_path(settings.delta_root, topic)).file_uris())


def row_bytes(spark: SparkSession, settings: Settings, topic: str) -> float:
    """Compact a landed table, and return what one of its rows takes."""
    path = table_path(settings.delta_root, topic)
    compact_table(spark, path, settings.compact_keep_hours)
    table = DeltaTable(path)
    files = table.get_add_actions(flatten=True)
    size = sum(files.column("size_bytes").to_pylist())
    records = sum(files.column("num_records").to_pylist())
    return float(size / records)


def append_little(spark: SparkSession, settings: Settings, topic: str, partitions: int) -> Beside:
    """Append few rows again and again to a table, and compact it before its last checkpoint."""
    root = f"{settings.delta_root}/beside"
    make_tables(spark, root, [topic], LANDED | {"delta.checkpointInterval": str(CHECKPOINTS[0])})
    source = spark.read.format("delta").load(table_path(settings.delta_root, topic))
    rows = source.limit(FEW * partitions).repartition(partitions, "offset").cache()
    path = table_path(root, topic)
    for number in range(CHECKPOINTS[1]):
        append_batch(rows, path, "size", number)
    compact_table(spark, path, settings.compact_keep_hours)
    compacted = DeltaTable(path).version()
    for number in range(compacted, CHECKPOINTS[2]):
        append_batch(rows, path, "size", number)
    return Beside(Path(path), compacted)


def weigh_entries(beside: Beside, partitions: int) -> tuple[float, float]:
    """Return what a checkpoint takes for a file that the table has, and for one that it had."""
    first, second, third = (checkpoint_bytes(beside.log, version) for version in CHECKPOINTS)
    first_files, second_files, _ = (version * partitions for version in CHECKPOINTS)
    for_a_file = (second - first) / (second_files - first_files)
    head = second - second_files * for_a_file
    files_now = 1 + (CHECKPOINTS[2] - beside.compacted) * partitions
    for_all_replaced = third - head - files_now * for_a_file
    return for_a_file, for_all_replaced / second_files


def checkpoint_bytes(log: Path, version: int) -> int:
    """Return the size of the checkpoint of this version."""
    found = list(log.glob(f"{version:020}.checkpoint*.parquet"))
    assert found, f"{log} has no checkpoint of version {version}"
    return sum(file.stat().st_size for file in found)
