"""Event tables: a row for each event id, whatever lands, and whenever the job is killed."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer
from delta.tables import DeltaTable
from deltalake import DeltaTable as Table
from deltalake import QueryBuilder
from pyspark.sql import DataFrame, SparkSession

from contract.events import Event
from spark.event_tables import (
    add_new,
    checkpoint_path,
    delete,
    rebuild_table,
    table_path,
    update_table,
)
from spark.lake.landed_tables import table_path as landed_path
from spark.tables import count_rows, say
from tests.spark.topics import Topics, land_once

Row = dict[str, Any]
COLUMNS = "n int, amount decimal(12, 2), made_at timestamp"


@pytest.fixture
def made(topics: Topics) -> Event:
    """An event type of the test's own."""
    first, _ = topics.names
    return Event("thing-made", first, columns=COLUMNS)


def body(n: int) -> bytes:
    """Return what the event of a number says."""
    content = {"n": n, "amount": f"{n}.50", "made_at": "2026-11-21T10:00:00Z", "more": True}
    return json.dumps(content).encode()


def publish(topics: Topics, numbers: Sequence[int], value: bytes | None = None) -> None:
    """Publish the events of these numbers, as Connect does."""
    first, _ = topics.names
    producer = Producer({"bootstrap.servers": topics.bootstrap_servers})
    for n in numbers:
        headers = {"id": f"e-{n}", "event_type": "thing-made", "ce_time": "2026-11-22T09:00:00.5Z"}
        producer.produce(first, value or body(n), f"k-{n}", n % 2, headers=list(headers.items()))
    assert producer.flush(30) == 0


def rows_of(delta_root: Path, event: Event) -> list[Row]:
    """Return the rows of a table, as a reader sees them that is not Spark."""
    table = Table(table_path(str(delta_root), event))
    statement = "select * from events order by event_id"
    found = QueryBuilder().register("events", table).execute(statement).read_all()
    columns = [found[name].to_pylist() for name in found.column_names]
    return [dict(zip(found.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def ids_of(delta_root: Path, event: Event) -> list[str]:
    """Return the event id of each row."""
    return [row["event_id"] for row in rows_of(delta_root, event)]


def each_once(*numbers: int) -> list[str]:
    """Return the ids of these events."""
    return sorted(f"e-{n}" for n in numbers)


def test_an_event_has_a_row_with_typed_columns(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """Amounts are decimals and times are times, for delta-rs and for DuckDB.

    A table without events can be read too.
    """
    land_once(spark, topics, tmp_path)
    assert update_table(spark, str(tmp_path), made).count() == 0

    publish(topics, [7])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)

    [row] = rows_of(tmp_path, made)
    times = [row.pop(name).isoformat() for name in ("occurred_at", "made_at")]
    assert times == ["2026-11-22T09:00:00.500000+00:00", "2026-11-21T10:00:00+00:00"]
    assert row == {
        "event_id": "e-7",
        "n": 7,
        "amount": Decimal("7.50"),
        "unreadable": None,
        "topic": made.topic,
        "partition": 1,
        "offset": 0,
    }
    files = Table(table_path(str(tmp_path), made)).file_uris()
    statement = "select n, amount, made_at = '2026-11-21 10:00:00+00' from read_parquet($files)"
    assert duckdb.execute(statement, {"files": files}).fetchall() == [(7, Decimal("7.50"), True)]


def test_an_event_that_comes_again_has_one_row(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """Whether it comes again in the same batch or much later."""
    publish(topics, [1, 2, 1])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    publish(topics, [2, 3])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    assert ids_of(tmp_path, made) == each_once(1, 2, 3)


def test_control_a_plain_append_doubles_an_event_that_comes_again(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """So the test above can see a double."""

    def append(events: DataFrame, path: str) -> None:
        events.write.format("delta").mode("append").save(path)

    for numbers in ([1, 2], [2, 3]):
        publish(topics, numbers)
        land_once(spark, topics, tmp_path)
        update_table(spark, str(tmp_path), made, add=append)
    assert ids_of(tmp_path, made) == sorted([*each_once(1, 2), *each_once(2, 3)])


def test_a_run_that_dies_between_two_writes_is_completed_by_the_next(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """It had written its rows and not that it had: they are read again, and there is one of each.

    The same if the checkpoint is lost.
    """

    class KilledError(Exception):
        """Stands for a kill at this moment."""

    def add_and_die(events: DataFrame, path: str) -> None:
        add_new(events, path)
        raise KilledError

    publish(topics, [1, 2])
    land_once(spark, topics, tmp_path)
    with pytest.raises(Exception, match="KilledError"):
        update_table(spark, str(tmp_path), made, add=add_and_die)
    assert ids_of(tmp_path, made) == each_once(1, 2)
    update_table(spark, str(tmp_path), made)
    assert ids_of(tmp_path, made) == each_once(1, 2)

    delete(spark, checkpoint_path(str(tmp_path), made))
    update_table(spark, str(tmp_path), made)
    assert ids_of(tmp_path, made) == each_once(1, 2)


def test_what_is_not_as_the_contract_says_keeps_its_text(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """It has its row, it is counted, and the job says so; a record without an id is no event."""
    publish(topics, [1])
    publish(topics, [2], value=b'{"n": "many"}')
    publish(topics, [3], value=b"\xff")
    topics.send(made.topic, 2)
    land_once(spark, topics, tmp_path)
    counts = count_rows(update_table(spark, str(tmp_path), made))
    assert counts == {"events": 3, "unreadable": 2}
    assert say({"thing-made": counts}) == (
        "thing-made: 3 events, 2 are not as contract/events.py says: see `unreadable`"
    )
    _, second, _ = rows_of(tmp_path, made)
    assert second["unreadable"] == '{"n": "many"}'


def test_rows_that_are_only_rewritten_bring_no_event(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """A landed table may be compacted, or repaired, between two runs."""
    publish(topics, [1, 2])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    landed = DeltaTable.forPath(spark, landed_path(str(tmp_path), made.topic))
    publish(topics, [1, 4])
    land_once(spark, topics, tmp_path)
    landed.optimize().executeCompaction()
    landed.delete("partition = 1 and offset = 1")  # the second of event 1
    publish(topics, [3])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    assert ids_of(tmp_path, made) == each_once(1, 2, 3, 4)


@pytest.mark.parametrize("gone", ["*.parquet", "_delta_log/*.json"])
def test_a_table_whose_next_files_are_gone_is_made_again(
    spark: SparkSession,
    topics: Topics,
    made: Event,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    gone: str,
) -> None:
    """Nobody has asked for it for so long that compaction has deleted them, or Delta its log."""
    publish(topics, [1, 2])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    path = Path(landed_path(str(tmp_path), made.topic))
    former = set(path.glob(gone))
    for number in (3, 4):
        publish(topics, [number])
        land_once(spark, topics, tmp_path)
    replaced = set(path.glob(gone)) - former
    compact_and_note(spark, path)
    for file in replaced:
        file.unlink()
    update_table(spark, str(tmp_path), made)
    assert ids_of(tmp_path, made) == each_once(1, 2, 3, 4)
    assert "thing-made: files to go on with are gone" in capsys.readouterr().err
    publish(topics, [5])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    assert ids_of(tmp_path, made) == each_once(1, 2, 3, 4, 5)
    assert "are gone" not in capsys.readouterr().err


def compact_and_note(spark: SparkSession, path: Path) -> None:
    """Make one file of all, and write a checkpoint of the log, which then needs nothing older."""
    landed = DeltaTable.forPath(spark, str(path))
    landed.optimize().executeCompaction()
    jvm: Any = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
    log.checkpoint()
    log.clearCache()


def test_a_table_can_be_made_again(
    spark: SparkSession, topics: Topics, made: Event, tmp_path: Path
) -> None:
    """Of the landed bytes, with the same rows; that is how it gets the columns of a new contract.

    Until then the job ends: half of the rows would have other columns.
    """
    publish(topics, [1, 2, 1])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), made)
    before = rows_of(tmp_path, made)
    rebuild_table(spark, str(tmp_path), made)
    assert rows_of(tmp_path, made) == before

    richer = made._replace(columns=f"{COLUMNS}, more boolean")
    with pytest.raises(SystemExit):
        update_table(spark, str(tmp_path), richer)
    rebuild_table(spark, str(tmp_path), richer)
    assert [row["more"] for row in rows_of(tmp_path, richer)] == [True, True]

    publish(topics, [2, 3])
    land_once(spark, topics, tmp_path)
    update_table(spark, str(tmp_path), richer)
    assert ids_of(tmp_path, richer) == each_once(1, 2, 3)
