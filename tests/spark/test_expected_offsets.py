"""Every offset that must have landed is made, by as many tasks as there is work for."""

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from ops.settings import ROOT
from spark.rows import frames

TOPIC = "order.events"


@pytest.mark.parametrize(("of_a_task", "tasks"), [(1_000, 1), (12, 3)])
def test_a_long_range_is_made_by_many_tasks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, of_a_task: int, tasks: int
) -> None:
    """A partition with more offsets than one task takes is divided; none is left out or twice."""
    monkeypatch.setattr(frames, "OFFSETS_OF_A_ROW", 4)
    monkeypatch.setattr(frames, "OFFSETS_OF_A_TASK", of_a_task)
    ranges = {(TOPIC, 0): range(5, 40), (TOPIC, 1): range(0), (TOPIC, 2): range(7, 8)}
    expected = frames.expected_offsets(spark, ranges)
    found = sorted(row.position for row in expected.collect())
    assert found == sorted([*(f"{TOPIC}/0/{n}" for n in range(5, 40)), f"{TOPIC}/2/7"])
    assert expected.rdd.getNumPartitions() == tasks


COUNT_THEM = """
import sys
from pyspark.sql import SparkSession
from spark.rows import frames

frames.OFFSETS_OF_A_ROW = int(sys.argv[1])
memory = {"spark.master": "local[1]", "spark.driver.memory": "600m", "spark.ui.enabled": "false"}
memory |= {"spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "2"}
spark = SparkSession.builder.config(map=memory).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
long, short = ({(topic, 0): range(size)} for topic, size in {"a": 8_000_000, "b": 10}.items())
both = frames.expected_offsets(spark, long).union(frames.expected_offsets(spark, short))
sizes = both.selectExpr("length(position) as size").groupBy("size").count()
print(sum(row["count"] for row in sizes.collect()))
"""


def count_in_little_memory(of_a_row: int) -> str:
    """Return what a Spark of its own prints that has 600 MB."""
    command = [sys.executable, "-c", COUNT_THEM, str(of_a_row)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout.strip()


@pytest.mark.prove
def test_a_long_range_does_not_fill_the_memory() -> None:
    """Eight million offsets are made in 600 MB; control: as one row they do not fit."""
    assert count_in_little_memory(frames.OFFSETS_OF_A_ROW) == "8000010"
    assert not count_in_little_memory(8_000_000)
