"""Landed tables are read where something is wanted of them, and nowhere else."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark.lake.landed_tables import make_tables, read_within

WANTED, OTHER = "wanted.events", "other.events"


def test_a_table_of_which_nothing_is_wanted_is_not_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A topic without a range need not even have a table; control: asked for, it is missed."""
    root = str(tmp_path)
    make_tables(spark, root, [WANTED])
    topics = [WANTED, OTHER]
    for ranges in ({(WANTED, 0): range(5)}, {(WANTED, 0): range(5), (OTHER, 0): range(0)}, {}):
        assert read_within(spark, root, topics, ranges).count() == 0
    with pytest.raises(AnalysisException, match=OTHER):
        read_within(spark, root, topics, {(OTHER, 0): range(5)})
