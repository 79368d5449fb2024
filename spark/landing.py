"""What is landed: one row for each record, its bytes unchanged; and where a lost checkpoint goes on."""

import json
from collections.abc import Iterable, Mapping
from functools import reduce

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

TOPICS = ("order.events", "fulfillment.events", "rejection.events", "dead-letter.events", "audit.events")
SCHEMA = """topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary,
    headers array<struct<key: string, value: binary>>"""
COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
EARLIEST, LATEST = -2, -1  # Kafka's own numbers for them

Position = tuple[str, int]  # topic and partition


def records(kafka: DataFrame) -> DataFrame:
    """The columns of a landed table, out of those that the Kafka source gives."""
    return kafka.select(*COLUMNS)


def make_table(spark: SparkSession, path: str) -> bool:
    """Make an empty table, so that a topic without records can be read too; True if there was one."""
    if DeltaTable.isDeltaTable(spark, path):
        return True
    spark.createDataFrame([], SCHEMA).write.format("delta").mode("ignore").save(path)
    return False


def read_tables(spark: SparkSession, root: str, topics: Iterable[str]) -> DataFrame:
    """All landed tables as one."""
    tables = [spark.read.format("delta").load(f"{root}/{topic}").select(*COLUMNS) for topic in topics]
    return reduce(DataFrame.unionByName, tables)


def landed_positions(landed: DataFrame) -> dict[Position, range]:
    """The offsets of each partition, from the first that landed to the last."""
    bounds = F.min("offset").alias("low"), F.max("offset").alias("high")
    rows = landed.groupBy("topic", "partition").agg(*bounds).collect()
    return {(row.topic, row.partition): range(row.low, row.high + 1) for row in rows}


def starting_offsets(partitions: Iterable[Position], landed: Mapping[Position, range]) -> str:
    """Spark's JSON for: go on behind what has landed, partition by partition, and else at the beginning."""
    offsets: dict[str, dict[str, int]] = {}
    for topic, partition in partitions:
        known = landed.get((topic, partition))
        offsets.setdefault(topic, {})[str(partition)] = known.stop if known else EARLIEST
    return json.dumps(offsets)
