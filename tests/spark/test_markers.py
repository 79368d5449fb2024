"""Offsets that hold no record: a marker is not a record that is missing."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from spark.kafka.positions import Position, current_offsets, not_landed, partitions_of
from spark.lake.landed_tables import landed_positions, read_landed
from spark.landing.landing_query import landed_so_far, start_landing
from spark.rows.frames import expected_offsets
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
