"""Offsets that must have landed, and those without a record: a marker is none that is missing."""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from ops.settings import ROOT
from spark.kafka.positions import Position, current_offsets, not_landed, partitions_of
from spark.lake.landed_tables import landed_positions, read_landed
from spark.landing.landing_query import landed_so_far, start_landing
from spark.rows.frames import OFFSETS_OF_A_ROW, expected_offsets
from spark.rows.markers import expected_records
from tests.client import fresh
from tests.spark.topics import Topics

Ranges = dict[Position, range]


@pytest.fixture
def topic(topics: Topics) -> str:
    """A topic with transactions: in each partition the last offset is a marker."""
    first, _ = topics.names
    send(topics, first, 6, commit=True)
    send(topics, first, 4, commit=False)
    send(topics, first, 2, commit=True)
    return first


def send(topics: Topics, topic: str, count: int, *, commit: bool) -> None:
    """Send so many records, in turn on each partition, in one transaction."""
    settings = {
        "bootstrap.servers": topics.bootstrap_servers,
        "transactional.id": fresh("producer"),
    }
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    for n in range(count):
        producer.produce(topic, b"value", b"key", n % 2)
    assert producer.flush(30) == 0
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def held(topics: Topics, topic: str) -> Ranges:
    """Return the offsets that Kafka has, as reconciliation asks for them."""
    partitions = partitions_of(topics.admin, [topic])
    return current_offsets(topics.admin, partitions, topic)


def positions(frame: DataFrame) -> set[str]:
    """Return the positions in a frame."""
    return {row.position for row in frame.collect()}


def test_markers_are_no_missing_records(
    spark: SparkSession, topics: Topics, topic: str, tmp_path: Path
) -> None:
    """After transactions every record that is expected has landed, and landing is at the end.

    The control: counted by offsets alone, records would be missing, and landing behind for ever.
    """
    settings = topics.settings(tmp_path)
    start_landing(spark, settings, [topic], once=True).awaitTermination()
    landed = read_landed(spark, settings.delta_root, [topic])
    current = held(topics, topic)

    rows = positions(landed.selectExpr("concat_ws('/', topic, partition, offset) as position"))
    assert len(rows) == 8
    assert positions(expected_records(settings, landed, current, current)) == rows
    by_offsets = positions(expected_offsets(spark, current))
    assert len(by_offsets - rows) == 10, "in each partition three markers and two aborted records"

    so_far = landed_so_far(spark, settings.delta_root, [topic])
    assert not_landed(so_far, current) == {}
    assert len(not_landed(landed_positions(landed), current)) == 2


def test_a_lost_row_between_markers_is_missing(
    spark: SparkSession, topics: Topics, topic: str, tmp_path: Path
) -> None:
    """Kafka has a record there, so it is expected, whatever landing has made of it.

    What was seen without a record is remembered for the time when Kafka has deleted it.
    """
    settings = topics.settings(tmp_path)
    start_landing(spark, settings, [topic], once=True).awaitTermination()
    landed = read_landed(spark, settings.delta_root, [topic])
    current = held(topics, topic)
    all_rows = positions(expected_records(settings, landed, current, current))

    topics.forget(topic, below=current[topic, 0].stop)
    left = landed.where("not (partition = 0 and offset = 1)")
    after = positions(expected_records(settings, left, current, held(topics, topic)))

    assert after == all_rows
    assert f"{topic}/0/1" in after


def test_without_gaps_nothing_is_read_again(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """A topic without transactions costs no second look, and none is remembered."""
    first, _ = topics.names
    topics.send(first, 6)
    settings = topics.settings(tmp_path)
    start_landing(spark, settings, [first], once=True).awaitTermination()
    landed = read_landed(spark, settings.delta_root, [first])
    current = held(topics, first)
    assert len(positions(expected_records(settings, landed, current, current))) == 6
    assert not (tmp_path / "reconcile" / "no_record").exists()


LONG = "order.events"


@pytest.mark.parametrize(("of_a_task", "tasks"), [(1_000, 1), (12, 3)])
def test_a_long_range_is_made_by_many_tasks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, of_a_task: int, tasks: int
) -> None:
    """A partition with more offsets than one task takes is divided; none is left out or twice."""
    monkeypatch.setattr("spark.rows.frames.OFFSETS_OF_A_ROW", 4)
    monkeypatch.setattr("spark.rows.frames.OFFSETS_OF_A_TASK", of_a_task)
    ranges = {(LONG, 0): range(5, 40), (LONG, 1): range(0), (LONG, 2): range(7, 8)}
    expected = expected_offsets(spark, ranges)
    found = sorted(row.position for row in expected.collect())
    assert found == sorted([*(f"{LONG}/0/{n}" for n in range(5, 40)), f"{LONG}/2/7"])
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
    assert count_in_little_memory(OFFSETS_OF_A_ROW) == "8000010"
    assert not count_in_little_memory(8_000_000)
