"""When landed rows are looked through for what can go: together, and not each day."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from contract.names import INPUT_TOPIC
from spark.lake.landed_tables import SCHEMA, make_tables, table_path
from spark.retiring import old_landed
from spark.retiring.old_landed import (
    LATER,
    OF_EVENTS,
    Lake,
    find_old_landed,
    find_stops,
    note_look,
    reason_to_wait,
)
from spark.retiring.purge import Limits
from spark.rows.frames import query
from spark.rows.retired_landed import STATEMENTS, Retired, read_retired, split_position
from spark.session import make_frame
from spark.settings import Settings

DAYS = 100
LATEST = DAYS * (1 + LATER)


class LookedThroughError(Exception):
    """All of the lake was to be read."""


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A lake with empty tables, which nobody else judges; reading all of it is noticed."""

    def read_lake(*_: object) -> None:
        raise LookedThroughError

    monkeypatch.setattr(old_landed, "find_other_subscribers", lambda _settings: [])
    monkeypatch.setattr(old_landed, "read_lake", read_lake)
    made = Settings(delta_root=str(tmp_path), retention_landed_days=DAYS)
    make_tables(spark, made.delta_root, [made.input_topic, *OF_EVENTS])
    return made


def land(spark: SparkSession, settings: Settings, age_days: float) -> None:
    """Land an order that is so old."""
    written = datetime.now(UTC) - timedelta(days=age_days)
    row = (settings.input_topic, 0, 0, written, None, None, None)
    frame = make_frame(spark, [row], SCHEMA)
    frame.write.format("delta").mode("append").save(table_path(settings.delta_root, row[0]))


def look(spark: SparkSession, settings: Settings) -> str | None:
    """Return why nothing goes."""
    nothing = Limits({}, {}, {})
    return find_old_landed(spark, settings, [], nothing).old.stays


@pytest.mark.parametrize("age_days", [DAYS + 0.1, LATEST - 0.1])
def test_rows_that_are_just_old_enough_wait_for_others(
    spark: SparkSession, settings: Settings, age_days: float
) -> None:
    """To find what can go, all of the lake is read: so it goes some days later, together."""
    land(spark, settings, age_days)
    assert look(spark, settings) == f"they go together, once one is {LATEST:g} d old"


def test_once_one_is_older_all_are_looked_through(spark: SparkSession, settings: Settings) -> None:
    """Control: the same look finds that it is time."""
    land(spark, settings, LATEST + 0.1)
    with pytest.raises(LookedThroughError):
        look(spark, settings)


def test_what_stays_is_not_looked_through_each_day(spark: SparkSession, settings: Settings) -> None:
    """One row that must stay for long does not make every retention read all of the lake."""
    land(spark, settings, 2 * DAYS)
    note_look(spark, settings.delta_root, read_retired(spark, settings.delta_root))
    stays = look(spark, settings)
    assert stays
    assert stays.startswith(f"they go together, {DAYS * LATER:g} d after the last: ")


@pytest.mark.parametrize(("days_ago", "waits"), [(DAYS * LATER - 0.1, True), (DAYS * LATER, False)])
def test_some_days_later_it_is_looked_through_again(days_ago: float, *, waits: bool) -> None:
    """A twentieth of the age after the last time."""
    looked_at = datetime.now(UTC) - timedelta(days=days_ago)
    assert (reason_to_wait(DAYS, 2 * DAYS, looked_at) is not None) is waits


def test_of_young_rows_nothing_is_said(spark: SparkSession, settings: Settings) -> None:
    """None is old enough."""
    land(spark, settings, DAYS - 0.1)
    assert look(spark, settings) == ""


@pytest.mark.parametrize(("log_start", "stop"), [(0, 0), (3, 3), (10, 10)])
def test_a_record_that_kafka_still_has_stays(
    spark: SparkSession, log_start: int, stop: int
) -> None:
    """A dead letter has no tracking row that would hold its record: what holds it is the topic."""
    retired = Retired({}, 0, spark.range(0).toDF("kind"))
    none: DataFrame = spark.range(0).selectExpr("'' as topic", "0 as partition", "id as offset")
    lake = Lake(none, none, {}, none, retired, 0)
    limits = Limits({}, {f"{INPUT_TOPIC}/0": log_start}, {(INPUT_TOPIC, 0): range(10)})
    assert find_stops(lake, limits, [INPUT_TOPIC], none) == {(INPUT_TOPIC, 0): stop}


def test_what_was_forgotten_and_never_landed_is_noted(spark: SparkSession) -> None:
    """Of it nobody knows what it was: its partition is not compared, now as before."""
    rows = [(f"{INPUT_TOPIC}/0/{offset}",) for offset in (3, 4, 9)]
    lost = split_position(make_frame(spark, rows, "position string"))
    landed = """
        topic string, partition int, offset bigint, kafka_topic string, is_event boolean,
        event_id string, key string, sha256 string
    """
    entry = """
        place string, offset bigint, idempotency_key string, audit_entry_id string,
        body_sha256 string
    """
    tracking = "topic string, partition int, offset bigint, message_id string, sha256 string"
    given = {
        "lost": lost.where("offset < 5"),
        "landed": make_frame(spark, [], landed),
        "remaining": make_frame(spark, [], "kafka_topic string, event_id string"),
        "forgotten": make_frame(spark, [], tracking),
        "entries": make_frame(spark, [], entry),
    }
    [noted] = query(STATEMENTS["note"], given).collect()
    assert (noted["kind"], noted["id"], noted["rows"]) == ("lost", f"{INPUT_TOPIC}/0", 2)
