"""Offsets without a record: markers of transactions, and what a producer has aborted.

A gap in a landed table may be one of these, or a record that is lost. Kafka knows, as long as it
keeps the offsets: they are read there once more, and those without a record are remembered.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from access.kafka_java import spark_source
from spark.kafka.positions import Position, kafka_topic
from spark.rows.frames import RANGES_SCHEMA, Stretch, divide_stretches, expected_offsets, query
from spark.session import locate, log_progress, make_frame
from spark.settings import Settings
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
OFFSET_SCHEMA = "topic string, partition int, offset bigint"

Ranges = Mapping[Position, range]


def expected_records(
    settings: Settings, landed: DataFrame, ranges: Ranges, current: Ranges
) -> DataFrame:
    """Return the position of every record that must have landed.

    `ranges` are all offsets up to the ends, and `current` those that Kafka still has.
    """
    spark = landed.sparkSession
    expected = expected_offsets(spark, ranges)
    with_gaps = find_partitions_with_gaps(landed, ranges)
    if not with_gaps:
        return expected
    frames = {"expected": offsets_in(spark, with_gaps), "landed": landed}
    gaps = query(STATEMENTS["gap"], frames).persist()
    path = f"{settings.delta_root}/reconcile/no_record"
    known = read_known(spark, path)
    look_at_gaps(settings, gaps, known, current, path)
    frames = {"expected": expected, "empty": read_known(spark, path)}
    return query(STATEMENTS["expected"], frames)


def find_partitions_with_gaps(landed: DataFrame, ranges: Ranges) -> dict[Position, range]:
    """Return the partitions of which other offsets have landed than they have."""
    expected = offsets_in(landed.sparkSession, ranges)
    frames = {"expected": expected, "landed": landed}
    uneven = query(STATEMENTS["uneven"], frames).collect()
    found = {(row.topic, row.partition) for row in uneven}
    return {at: offsets for at, offsets in ranges.items() if at in found}


def offsets_in(spark: SparkSession, ranges: Ranges) -> DataFrame:
    """Return every offset in these ranges."""
    stretches = as_stretches(ranges)
    frames = {"ranges": divide_stretches(spark, stretches)}
    return query(STATEMENTS["offsets"], frames)


def look_at_gaps(
    settings: Settings, gaps: DataFrame, known: DataFrame, current: Ranges, path: str
) -> None:
    """Read the gaps that are new in Kafka, and remember where it has no record."""
    spark = gaps.sparkSession
    unknown = query(STATEMENTS["unknown"], {"gaps": gaps, "known": known})
    stretches = {}
    for topic, partition, first, last in unknown.collect():
        held = current.get((topic, partition), range(0))
        stretch = range(max(first, held.start), min(last + 1, held.stop))
        if stretch:
            stretches[topic, partition] = stretch
    if not stretches:
        return
    frames = {
        "gaps": gaps,
        "known": known,
        "read": make_frame(spark, as_stretches(stretches), RANGES_SCHEMA),
        "held": read_offsets(spark, settings, stretches),
    }
    seen_empty = query(STATEMENTS["seen_empty"], frames).persist()
    seen_empty.write.format("delta").mode("append").save(path)
    log_progress(f"{seen_empty.count():,} offsets hold no record: transactions")
    seen_empty.unpersist()


def read_known(spark: SparkSession, path: str) -> DataFrame:
    """Return the offsets that an earlier run has seen without a record."""
    files, log = locate(spark, f"{path}/_delta_log")
    if files.exists(log):
        return spark.read.format("delta").load(path)
    return make_frame(spark, [], OFFSET_SCHEMA)


def read_offsets(spark: SparkSession, settings: Settings, stretches: Ranges) -> DataFrame:
    """Return the offsets in these stretches of Kafka that hold a committed record."""
    records = read_records(spark, settings, stretches)
    return records.select("topic", "partition", "offset")


def read_records(spark: SparkSession, settings: Settings, stretches: Ranges) -> DataFrame:
    """Return the committed records in these stretches of Kafka."""
    assigned: dict[str, list[int]] = defaultdict(list)
    starts: dict[str, dict[int, int]] = defaultdict(dict)
    stops: dict[str, dict[int, int]] = defaultdict(dict)
    names: dict[Any, Any] = {}  # what rows are called, by Kafka's name
    for (name, partition), offsets in stretches.items():
        topic = kafka_topic(name)
        names[topic] = name
        assigned[topic].append(partition)
        starts[topic][partition] = offsets.start
        stops[topic][partition] = offsets.stop
    options: dict[str, Any] = {
        **spark_source(settings.kafka_bootstrap_servers),
        "assign": json.dumps(assigned),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(stops),
        "includeHeaders": True,
        "failOnDataLoss": True,
    }
    records = spark.read.format("kafka").options(**options).load()
    return records.replace(names, subset=["topic"])


def as_stretches(ranges: Ranges) -> list[Stretch]:
    """Return ranges as rows."""
    return [(*position, offsets.start, offsets.stop) for position, offsets in ranges.items()]
