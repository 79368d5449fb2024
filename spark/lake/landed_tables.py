"""The Delta tables that topics land in: one for each topic, a row for each record, as it came."""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.kafka.positions import Position, kafka_topic
from spark.session import exit_with_error, locate, make_frame

COLUMNS = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key:string,value:binary>>",
}


def as_schema(columns: Mapping[str, str]) -> str:
    """Return columns and their types as one line of SQL."""
    with_types = [f"{name} {type_}" for name, type_ in columns.items()]
    return ", ".join(with_types)


SCHEMA = as_schema(COLUMNS)

# A trigger of two seconds writes 43,200 files to a table's log each day: keep a week of them.
# A checkpoint of the log names all files again, also those that compaction has replaced within a
# week, and the landing waits for it: so there is one for a hundred commits, and not for ten.
# Skipping files needs the least and greatest values of few columns, and none of a record's bytes.
PROPERTIES = {
    "delta.logRetentionDuration": "interval 8 days",
    "delta.checkpointInterval": "100",
    "delta.dataSkippingStatsColumns": "topic,partition,offset,timestamp",
}


def table_path(delta_root: str, topic: str) -> str:
    """Return where a topic lands."""
    return f"{delta_root}/landed/{topic}"


def make_tables(
    spark: SparkSession,
    delta_root: str,
    topics: Iterable[str],
    properties: Mapping[str, str] = PROPERTIES,
) -> None:
    """Make the tables that are missing, so that a topic without records can be read too."""
    empty = make_frame(spark, [], SCHEMA)

    def make_table(topic: str) -> None:
        path = table_path(delta_root, topic)
        writer = empty.write.format("delta").mode("ignore").options(**properties)
        writer.save(path)

    with ThreadPoolExecutor() as threads:
        made = threads.map(make_table, topics)
        list(made)  # raises what a thread has raised


def commit_nothing(spark: SparkSession, delta_root: str, topics: Iterable[str], lease: int) -> None:
    """Note in the tables that are there who lands now: a commit that takes the next number."""
    empty = make_frame(spark, [], SCHEMA)
    noted = {"txnAppId": "lease", "txnVersion": str(lease)}
    for topic in topics:
        if is_landed(spark, delta_root, topic):
            writer = empty.write.format("delta").mode("append").options(**noted)
            writer.save(table_path(delta_root, topic))


def read_landed(spark: SparkSession, delta_root: str, topics: Iterable[str]) -> DataFrame:
    """Return all landed tables as one frame; end the job if one of them has other columns."""
    tables = []
    for topic in topics:
        path = table_path(delta_root, topic)
        table = spark.read.format("delta").load(path)
        check_columns(path, table)
        tables.append(table)
    return reduce(DataFrame.unionByName, tables)


def is_landed(spark: SparkSession, delta_root: str, topic: str) -> bool:
    """Return whether a topic has a table."""
    path = table_path(delta_root, topic)
    files, log = locate(spark, f"{path}/_delta_log")
    return bool(files.exists(log))


def check_columns(path: str, table: DataFrame) -> None:
    """End the job if a table is not one that this pipeline has written."""
    found = dict(table.dtypes)
    if found != COLUMNS:
        exit_with_error(
            f"{path} is not a table that this version landed: its columns are {as_schema(found)};"
            " name another DELTA_ROOT"
        )


def landed_positions(landed: DataFrame) -> dict[Position, range]:
    """Return the offsets of each partition, from the first that has landed to the last."""
    first_offset = F.min("offset")
    last_offset = F.max("offset")
    partitions = landed.groupBy("topic", "partition")
    bounds = partitions.agg(first_offset, last_offset)
    positions = {}
    for topic, partition, first, last in bounds.collect():
        positions[topic, partition] = range(first, last + 1)
    return positions


def leave_out_landed(rows: DataFrame, path: str) -> DataFrame:
    """Return the rows that have not landed; files that end before the first of them are not read.

    A batch lands in a table as a whole, and in sequence.
    """
    wanted = landed_positions(rows)
    first = min((offsets.start for offsets in wanted.values()), default=0)
    table = rows.sparkSession.read.format("delta").load(path)
    landed = landed_positions(table.where(f"offset >= {first}").where(is_within(wanted)))
    return rows.where(f"not {is_within(landed)}")


def read_within(
    spark: SparkSession,
    delta_root: str,
    topics: Iterable[str],
    ranges: Mapping[Position, range],
) -> DataFrame:
    """Return the landed rows in these ranges of offsets; files that have none are not read.

    Of a table that has none Spark is not told: to find its files would take a few jobs.
    """
    tables = [make_frame(spark, [], SCHEMA)]
    for topic in topics:
        of_topic = [one for (name, _), one in ranges.items() if kafka_topic(name) == topic and one]
        if not of_topic:
            continue
        first = min(one.start for one in of_topic)
        stop = max(one.stop for one in of_topic)
        table = read_landed(spark, delta_root, [topic])
        tables.append(table.where(f"offset >= {first} and offset < {stop}"))
    return reduce(DataFrame.unionByName, tables).where(is_within(ranges))


def is_within(ranges: Mapping[Position, range]) -> str:
    """Return Spark SQL for whether a row is in one of these ranges."""
    limits = {}
    for (topic, partition), offsets in ranges.items():
        limits[f"{topic}/{partition}"] = (offsets.start, offsets.stop)
    all_limits = f"from_json('{json.dumps(limits)}', 'map<string, array<bigint>>')"
    of_row = f"{all_limits}[concat_ws('/', topic, partition)]"
    return f"coalesce(offset >= {of_row}[0] and offset < {of_row}[1], false)"
