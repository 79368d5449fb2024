"""A landing that is killed at each point of a batch: the next one completes what is missing."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from spark.landing.landing_query import start_landing
from tests.spark.topics import Topics, each_once

# A job of its own starts a JVM: seconds, or minutes where others have the processors.
PATIENCE_SECONDS = 300


class Left(NamedTuple):
    """What a kill at a point leaves behind: this shows that it struck there."""

    rows: list[int]  # of each table, the larger number first
    has_files: bool  # besides the empty one that Delta leaves where it makes a table
    has_log_checkpoint: bool = False  # of Delta, whole or not


LEFT = {
    "DP1": Left([0, 0], has_files=False),
    "DP2": Left([0, 0], has_files=True),
    "DP3": Left([10, 10], has_files=True),
    "DP4": Left([10, 0], has_files=True),
    "DP5": Left([10, 0], has_files=True, has_log_checkpoint=True),
}
POINTS = list(LEFT) if os.environ.get("PROVE") else ["DP4"]


@pytest.mark.parametrize("lost", ["nothing", "checkpoint"])
@pytest.mark.parametrize("point", POINTS)
def test_land_killed_within_a_batch_completes_it(
    spark: SparkSession, topics: Topics, tmp_path: Path, point: str, lost: str
) -> None:
    """Killed at any point of a batch, with and without its checkpoint: one row for each record."""
    first, second = topics.names
    topics.send(first, 10)
    topics.send(second, 10)
    killed = subprocess.run(
        killed_land(spark, topics, tmp_path, point),
        start_new_session=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert killed.returncode == -signal.SIGKILL
    assert left_behind(topics, tmp_path) == LEFT[point], "killed at another point"
    assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    if lost == "checkpoint":
        shutil.rmtree(tmp_path / "checkpoint")

    settings = topics.settings(tmp_path)
    start_landing(spark, settings, topics.names, once=True).awaitTermination()

    assert topics.landed(tmp_path) == {first: each_once(10), second: each_once(10)}


def killed_land(spark: SparkSession, topics: Topics, delta_root: Path, point: str) -> list[str]:
    """Return the command of a landing that is killed at a point."""
    jars = str(spark.conf.get("spark.driver.extraClassPath")).removesuffix("/*")
    job = [sys.executable, "-m", "tests.spark.killed_land", point, jars, str(delta_root)]
    return [*job, topics.bootstrap_servers, *topics.names]


def left_behind(topics: Topics, delta_root: Path) -> Left:
    """Return what there is of a batch that was not completed."""
    landed = delta_root / "landed"
    rows = sorted((len(found) for found in topics.landed(delta_root).values()), reverse=True)
    files = list(landed.glob("*/part-*.parquet"))
    log_checkpoints = list(landed.glob("*/_delta_log/*checkpoint*.parquet*"))
    return Left(rows, len(files) > len(topics.names), bool(log_checkpoints))
