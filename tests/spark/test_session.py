"""What a session does by the size of its work."""

import pytest
from pyspark.sql import SparkSession

from spark.session import FEW_ROWS, divide_work

PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.mark.parametrize(("rows", "partitions"), [(0, "1"), (FEW_ROWS - 1, "1"), (FEW_ROWS, "2")])
def test_few_rows_are_not_divided(spark: SparkSession, rows: int, partitions: str) -> None:
    """Each piece of work is a task, and a reconciliation has sixty."""
    divide_work(spark, rows)
    assert spark.conf.get(PARTITIONS) == partitions


def test_what_spark_submit_was_told_stays(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster knows better."""
    spark.conf.set(PARTITIONS, "200")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    divide_work(spark, 0)
    assert spark.conf.get(PARTITIONS) == "200"
    monkeypatch.undo()
    divide_work(spark, 0)
