"""Files of a lake that are damaged: landing names the file and the way out, and loses nothing."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.topics import Topics, each_once, land_once


def forget_logs(spark: SparkSession) -> None:
    """Read Delta's logs from the disk again, as a new process does."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def newest(folder: Path, pattern: str) -> Path:
    """Return the file with the highest number."""
    return max(folder.glob(pattern), key=lambda file: int(file.stem))


def cut_off(file: Path) -> None:
    """Leave a half of it, as a disk that was full or lost its power does."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def empty(file: Path) -> None:
    """Leave nothing of it."""
    file.write_bytes(b"")
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


@pytest.fixture
def lake(spark: SparkSession, topics: Topics, tmp_path: Path) -> Path:
    """Two batches of the first topic that have landed, and a third one that waits."""
    first, _ = topics.names
    for _ in range(2):
        topics.send(first, 10)
        land_once(spark, topics, tmp_path)
    topics.send(first, 10)
    return tmp_path


def refused(
    spark: SparkSession, topics: Topics, lake: Path, error: pytest.CaptureFixture[str]
) -> str:
    """Return the sentence with which landing ends."""
    forget_logs(spark)
    with pytest.raises(SystemExit) as ended:
        land_once(spark, topics, lake)
    assert ended.value.code == 2
    return error.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("name", ["metadata", "offsets", "commits"])
def test_a_damaged_checkpoint_is_named_and_can_be_removed(
    spark: SparkSession, topics: Topics, lake: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence names file and folder; without the folder every record lands once."""
    checkpoint = lake / "checkpoint"
    file = checkpoint / name
    if file.is_dir():
        file = newest(file, "[0-9]*")
    cut_off(file)

    sentence = refused(spark, topics, lake, capsys)

    assert f"{file} is damaged: remove the folder {checkpoint}, " in sentence
    shutil.rmtree(checkpoint)
    land_once(spark, topics, lake)
    first, second = topics.names
    assert topics.landed(lake) == {first: each_once(30), second: []}


def test_a_log_that_is_cut_off_is_named_and_its_rows_land_again(
    spark: SparkSession, topics: Topics, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest log of a table, empty: Delta would take it for a commit of nothing.

    Without log and checkpoint, what it had and what waits land once.
    """
    first, second = topics.names
    file = newest(lake / "landed" / first / "_delta_log", "*.json")
    empty(file)

    sentence = refused(spark, topics, lake, capsys)

    assert f"{file} is damaged: remove it and {lake}/checkpoint, " in sentence
    file.unlink()
    shutil.rmtree(lake / "checkpoint")
    forget_logs(spark)
    land_once(spark, topics, lake)
    assert topics.landed(lake) == {first: each_once(30), second: []}


def test_an_older_log_that_is_damaged_is_named(
    spark: SparkSession, topics: Topics, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log in the middle has no such way out: a backup, or the topic once more from Kafka."""
    first, second = topics.names
    table = lake / "landed" / first
    older, _ = sorted((table / "_delta_log").glob("*.json"))[-2:]
    cut_off(older)

    sentence = refused(spark, topics, lake, capsys)

    assert f"{older} is damaged: put it back from a backup, or move {table} " in sentence
    shutil.move(table, lake / "moved")
    shutil.rmtree(lake / "checkpoint")
    forget_logs(spark)
    land_once(spark, topics, lake)
    assert topics.landed(lake) == {first: each_once(30), second: []}


def test_control_without_a_look_at_the_log_its_rows_are_gone(
    spark: SparkSession, topics: Topics, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody looks, landing goes on over the empty log, and ten rows are missing."""
    monkeypatch.setattr("spark.landing.landing_query.refuse_damaged_logs", lambda *_: None)
    first, _ = topics.names
    empty(newest(lake / "landed" / first / "_delta_log", "*.json"))
    forget_logs(spark)
    land_once(spark, topics, lake)
    gone = set(each_once(30)) - set(topics.landed(lake)[first])
    assert gone == set(each_once(20)) - set(each_once(10))
