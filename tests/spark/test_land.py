"""Landing from a real broker: one row for each record, whatever happens to the checkpoint."""

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark.lake.landed_tables import SCHEMA, make_tables, read_within, table_path
from spark.landing import landing_query
from spark.landing.landing_query import append_batch, start_landing
from spark.parts import load_parts
from spark.repairing.landed_repairs import append_once
from spark.session import make_frame
from spark.settings import Settings
from spark.topics import topics_to_land
from tests.spark.topics import Topics, each_once, land_once, rows_of

HANGS_SECONDS = 300  # what takes longer never ends, also beside much else


def forget_last_commit(delta_root: Path) -> None:
    """Delete the newest file in the checkpoint's commits/, and its checksum."""
    commits = delta_root / "checkpoint" / "commits"
    newest = max(
        (file for file in commits.iterdir() if file.name.isdigit()), key=lambda file: int(file.name)
    )
    newest.unlink()
    (commits / f".{newest.name}.crc").unlink()


def test_land_keeps_every_byte(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """Key, value and headers arrive as they were sent, tombstones and arbitrary bytes too."""
    first, _ = topics.names
    producer = Producer({"bootstrap.servers": topics.bootstrap_servers})
    producer.produce(
        first, b"\xff\x00", b"\xfe", 0, headers=[("id", b"\x80"), ("id", b""), ("none", None)]
    )
    producer.produce(first, None, None, 0)
    assert producer.flush(30) == 0

    land_once(spark, topics, tmp_path)

    rows = rows_of(tmp_path, first)
    headers = [
        {"key": "id", "value": b"\x80"},
        {"key": "id", "value": b""},
        {"key": "none", "value": None},
    ]
    assert [row["headers"] for row in rows] == [headers, None]
    assert [
        (row["topic"], row["partition"], row["offset"], row["key"], row["value"]) for row in rows
    ] == [
        (first, 0, 0, b"\xfe", b"\xff\x00"),
        (first, 0, 1, None, None),
    ]
    assert all(row["timestamp"] is not None for row in rows)


def test_land_makes_a_table_for_a_topic_that_is_still_empty(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """A topic without records has a table without rows, and what comes later lands in it."""
    first, second = topics.names
    topics.send(first, 3)
    land_once(spark, topics, tmp_path)
    assert topics.landed(tmp_path) == {first: each_once(3), second: []}

    topics.send(second, 2)
    land_once(spark, topics, tmp_path)
    assert topics.landed(tmp_path) == {first: each_once(3), second: each_once(2)}


def test_land_after_a_lost_commit_changes_no_row(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """Without the newest file in commits/ the batch runs again; each offset still has one row."""
    first, second = topics.names
    topics.send(first, 10)
    topics.send(second, 10)
    land_once(spark, topics, tmp_path)
    forget_last_commit(tmp_path)
    topics.send(first, 1)

    land_once(spark, topics, tmp_path)

    assert topics.landed(tmp_path) == {
        first: sorted([*each_once(10), (0, 5)]),
        second: each_once(10),
    }


def test_control_without_a_look_at_the_tables_a_lost_commit_doubles_every_row(
    spark: SparkSession, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with all rows of the batch: each one again, so the test above can see doubles."""
    monkeypatch.setattr(landing_query, "leave_out_landed", lambda rows, _path: rows)
    first, second = topics.names
    topics.send(first, 10)
    settings = topics.settings(tmp_path)
    for run in range(3):
        if run > 0:
            forget_last_commit(tmp_path)
        start_landing(spark, settings, topics.names, once=True).awaitTermination()
    assert topics.landed(tmp_path) == {first: sorted(each_once(10) * 3), second: []}


def test_land_after_a_lost_checkpoint_goes_on_behind_its_tables(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """With the whole checkpoint deleted nothing lands twice, and nothing is left out."""
    first, second = topics.names
    topics.send(first, 10)
    land_once(spark, topics, tmp_path)
    shutil.rmtree(tmp_path / "checkpoint")
    topics.send(first, 1)
    topics.send(second, 4)

    land_once(spark, topics, tmp_path)

    assert topics.landed(tmp_path) == {
        first: sorted([*each_once(10), (0, 5)]),
        second: each_once(4),
    }


def test_land_goes_on_when_a_topic_is_left_out_and_comes_back(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """An extra removed and added again: each record of its topic lands once, like all others."""
    first, second = topics.names
    settings = topics.settings(tmp_path)
    for names in ([first, second], [first], [second, first]):
        for name in topics.names:
            topics.send(name, 4)
        start_landing(spark, settings, names, once=True).awaitTermination()
    every_record = each_once(12)
    assert topics.landed(tmp_path) == {first: every_record, second: every_record}


def test_land_is_alone_and_stops_when_told(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """A second landing is refused with a sentence and exit code 2; SIGTERM ends one with 0."""
    jars = str(spark.conf.get("spark.driver.extraClassPath")).removesuffix("/*")
    own = {"DELTA_ROOT": str(tmp_path), "SPARK_JARS_DIR": jars, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    env = {**os.environ, **own}
    command = [sys.executable, "-m", "spark.land"]
    log = tmp_path / "land.log"
    with log.open("wb") as output:
        first = subprocess.Popen(command, env=env, stdout=output, stderr=output)
    try:
        wait_for_file(tmp_path / "checkpoint" / "metadata", first, log)
        second = subprocess.run(
            [*command, "--once"],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_SECONDS,
        )
    finally:
        first.send_signal(signal.SIGTERM)
        code = first.wait(HANGS_SECONDS)
    refusal = f"another land is at work in {tmp_path}: stop it first\n"
    assert second.returncode == 2
    assert second.stderr.endswith(refusal)
    assert code == 0, log.read_text()
    every_topic = topics_to_land(Settings(), load_parts()).all()
    assert all((tmp_path / "landed" / topic / "_delta_log").exists() for topic in every_topic)


def wait_for_file(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a process has made a file."""
    deadline = time.monotonic() + HANGS_SECONDS
    while not path.exists():
        assert process.poll() is None, f"it ended with {process.returncode}: {log.read_text()}"
        assert time.monotonic() < deadline, f"there is no {path}: {log.read_text()}"
        time.sleep(0.2)


@pytest.mark.parametrize("has_id", [False, True], ids=["landing", "control: transaction id"])
def test_an_append_does_not_read_what_the_log_says_of_all_files(
    spark: SparkSession, topics: Topics, tmp_path: Path, has_id: bool
) -> None:
    """Its time does not grow with the files that compaction has replaced within a week."""
    first, _ = topics.names
    topics.send(first, 10)
    land_once(spark, topics, tmp_path)
    path = table_path(str(tmp_path), first)
    rows = make_frame(spark, [(first, 0, 99, datetime.now(UTC), None, None, None)], SCHEMA)
    jvm = spark.sparkContext._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)  # type: ignore[union-attr]
    append_batch(rows, path, "query", 1)
    before = log.unsafeVolatileSnapshot()
    if has_id:
        append_once(rows, path, "run")
    else:
        append_batch(rows, path, "query", 2)
    assert log.unsafeVolatileSnapshot().version() == before.version() + 1
    assert before._computedStateTriggered() == has_id


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
