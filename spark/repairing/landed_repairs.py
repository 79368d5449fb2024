"""Repairs of landed tables, beside the landing: a missing row is added, a second one removed."""

from collections import defaultdict
from collections.abc import Iterable

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

from access.kafka import kafka_connection
from spark.kafka.positions import EARLIEST, Position, offsets_at
from spark.lake.landed_tables import COLUMNS, SCHEMA, read_landed, table_path
from spark.lake.losses import Loss
from spark.landing.landing_query import landed_so_far
from spark.rows.markers import OFFSET_SCHEMA, read_records
from spark.session import make_frame
from spark.settings import Settings

Problems = dict[str, str]  # by position: why a record was not repaired
Offsets = dict[int, list[int]]  # by partition

PLACE = ["topic", "partition", "offset"]


def land_records(
    spark: SparkSession, settings: Settings, run_id: str, positions: Iterable[str]
) -> Problems:
    """Append the records at these positions that have not landed, each topic's in one commit.

    The landing is past them and never comes back to them.
    """
    problems: Problems = {}
    by_topic = group_by_topic(positions)
    begins = first_offsets(settings, by_topic)
    past = landed_so_far(spark, settings.delta_root, list(by_topic))
    for topic, offsets in by_topic.items():
        kept = defaultdict(list)
        for partition, offset in places(offsets):
            at = (topic, partition)
            position = f"{topic}/{partition}/{offset}"
            if offset < begins[at]:
                loss = Loss(topic, partition, offset, offset)
                problems[position] = f"Kafka has deleted it: pipeline land --accept-loss {loss}"
            elif offset >= past[at].stop:
                problems[position] = "the landing has not come to it yet: run pipeline land"
            else:
                kept[partition].append(offset)
        if kept:
            problems |= land_offsets(spark, settings, run_id, topic, kept)
    return problems


def land_offsets(
    spark: SparkSession, settings: Settings, run_id: str, topic: str, offsets: Offsets
) -> Problems:
    """Append what has not landed of one topic, and tell where Kafka has no record."""
    stretches = {}
    for partition, some in offsets.items():
        stretches[topic, partition] = range(min(some), max(some) + 1)
    wanted = as_frame(spark, topic, offsets)
    landed = read_landed(spark, settings.delta_root, [topic])
    records = read_records(spark, settings, stretches)
    missing = records.join(wanted, PLACE, "left_semi").join(landed, PLACE, "left_anti")
    path = table_path(settings.delta_root, topic)
    rows = missing.select(*COLUMNS)
    append_once(rows, path, run_id)
    landed = read_landed(spark, settings.delta_root, [topic])
    left = wanted.join(landed, PLACE, "left_anti").collect()
    return {"/".join(map(str, place)): "Kafka has no record there" for place in left}


def append_once(rows: DataFrame, path: str, run_id: str) -> None:
    """Append to a Delta table, unless this repair has done so before."""
    topic = path.rpartition("/")[-1]
    transaction = {"txnAppId": f"repair.{run_id}.{topic}", "txnVersion": "0"}
    writer = rows.write.format("delta").mode("append").options(**transaction)
    writer.save(path)


def remove_repeats(spark: SparkSession, settings: Settings, positions: Iterable[str]) -> Problems:
    """Leave one row of each of these positions, if its rows are the same; one commit a topic."""
    problems: Problems = {}
    for topic, offsets in group_by_topic(positions).items():
        path = table_path(settings.delta_root, topic)
        table = spark.read.format("delta").load(path)
        once = table.where(condition(offsets)).dropDuplicates()
        unlike = once.groupBy(*PLACE).count().where("count > 1")
        for place in unlike.select(*PLACE).collect():
            problems["/".join(map(str, place))] = "its rows are not the same"
            offsets[place.partition].remove(place.offset)
        if any(offsets.values()):
            replace_rows(spark, once, path, condition(offsets))
    return problems


def replace_rows(spark: SparkSession, once: DataFrame, path: str, where: str) -> None:
    """Put these rows where the table has them more than once, unless somebody has done so."""
    chosen = once.where(where).collect()  # read before they are replaced
    table = spark.read.format("delta").load(path)
    if table.where(where).count() == len(chosen):
        return
    rows = spark.createDataFrame(chosen, SCHEMA)
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", where)
    writer.save(path)


def condition(offsets: Offsets) -> str:
    """Return SQL for the rows at these offsets."""
    conditions = []
    for partition, some in offsets.items():
        numbers = ", ".join(map(str, some))
        if some:
            conditions.append(f"(`partition` = {partition} and `offset` in ({numbers}))")
    return " or ".join(conditions)


def first_offsets(settings: Settings, by_topic: dict[str, Offsets]) -> dict[Position, int]:
    """Return the first offset that Kafka has of each of these partitions."""
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    partitions = [(topic, partition) for topic in by_topic for partition in by_topic[topic]]
    return offsets_at(admin, partitions, EARLIEST)


def group_by_topic(positions: Iterable[str]) -> dict[str, Offsets]:
    """Return the offsets of each partition of each topic."""
    by_topic: dict[str, Offsets] = {}
    for position in sorted(positions):
        topic, partition, offset = position.split("/")
        offsets = by_topic.setdefault(topic, defaultdict(list))
        offsets[int(partition)].append(int(offset))
    return by_topic


def places(offsets: Offsets) -> list[tuple[int, int]]:
    """Return partition and offset of each."""
    return [(partition, offset) for partition, some in offsets.items() for offset in some]


def as_frame(spark: SparkSession, topic: str, offsets: Offsets) -> DataFrame:
    """Return offsets as rows."""
    rows = [(topic, partition, offset) for partition, offset in places(offsets)]
    return make_frame(spark, rows, OFFSET_SCHEMA)
