"""Records that are deleted before they land: named, and passed over only when it is accepted."""

import shutil
from argparse import ArgumentTypeError
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from spark.lake.losses import Loss, find_losses, parse_loss, read_accepted
from spark.land import land
from spark.landing.landing_query import accept_losses
from tests.spark.topics import HELD, PARTITIONS, Topics, each_once, land_once


class Lake(NamedTuple):
    """A lake of two topics."""

    spark: SparkSession
    topics: Topics
    root: Path

    def land(self) -> None:
        """Land what is there, as `land --once` does in a process of its own."""
        land_once(self.spark, self.topics, self.root)

    def accept(self, *losses: Loss) -> None:
        """Accept losses, as `land --accept-loss` does."""
        accept_losses(self.spark, self.topics.settings(self.root), self.topics.names, losses)

    def accepted(self) -> list[Loss]:
        """Return the losses that are on record."""
        return [accepted.loss for accepted in read_accepted(self.spark, str(self.root))]

    def rows(self) -> list[tuple[int, int]]:
        """Return the partition and offset of each row of the first topic."""
        first, _ = self.topics.names
        return self.topics.landed(self.root)[first]


@pytest.fixture
def lake(spark: SparkSession, topics: Topics, tmp_path: Path) -> Lake:
    """A lake that is still empty."""
    return Lake(spark, topics, tmp_path)


@pytest.fixture
def lost(lake: Lake) -> list[Loss]:
    """Of the first topic, offsets 0 to 4 have landed, these are gone, 8 and 9 are there."""
    first, second = lake.topics.names
    lake.topics.send(first, 10)
    lake.topics.send(second, 10)
    lake.land()
    lake.topics.send(first, 10)
    lake.topics.forget(first, below=8)
    return [Loss(first, partition, 5, 7) for partition in range(PARTITIONS)]


def test_lost_records_stop_landing_and_are_named(
    lake: Lake, lost: list[Loss], capsys: pytest.CaptureFixture[str]
) -> None:
    """Records that Kafka deleted before they landed end the job with their offsets: exit code 2.

    With and without the checkpoint, and nothing more has landed.
    """
    refuse_to_land(lake, lost, capsys)
    shutil.rmtree(lake.root / "checkpoint")
    refuse_to_land(lake, lost, capsys)
    assert lake.rows() == each_once(10)


def refuse_to_land(lake: Lake, lost: list[Loss], capsys: pytest.CaptureFixture[str]) -> None:
    """Assert that landing ends with a sentence that names what is lost, and how to accept it."""
    with pytest.raises(SystemExit) as ended:
        lake.land()
    assert ended.value.code == 2
    one, other = lost
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert f"Kafka deleted records before they landed: {one}, {other}. " in sentence
    assert sentence.endswith(f"land --accept-loss {one} --accept-loss {other}")


def test_records_lost_while_landing_runs_are_named(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A query that fails because Kafka deleted what it was to read ends with the same sentence."""
    first, _ = lake.topics.names
    lake.topics.send(first, 10)
    lake.land()
    lake.topics.send(first, 10)

    class Failing:
        """A query that comes too late."""

        def awaitTermination(self, _timeout: int) -> bool:  # noqa: N802 - Spark's name
            lake.topics.forget(first, below=8)
            raise StreamingQueryException("offset out of range")

    monkeypatch.setattr("spark.land.start_landing", lambda *_, **__: Failing())
    with pytest.raises(SystemExit) as ended:
        land(lake.spark, lake.topics.settings(lake.root), lake.topics.names, HELD, once=True)
    assert ended.value.code == 2
    assert f"before they landed: {first}/0:5-7, {first}/1:5-7. " in capsys.readouterr().err


def test_an_accepted_loss_is_remembered_and_landing_goes_on(
    lake: Lake, lost: list[Loss], capsys: pytest.CaptureFixture[str]
) -> None:
    """After both losses are accepted what is left lands once, and the losses stay on record.

    Control: with one of the two accepted, landing still stops for the other.
    """
    one, other = lost
    lake.accept(one)
    with pytest.raises(SystemExit):
        lake.land()
    assert f"landed: {other}. " in capsys.readouterr().err
    lake.accept(other)

    lake.land()

    left = [(partition, offset) for partition in range(PARTITIONS) for offset in (8, 9)]
    assert lake.rows() == sorted([*each_once(10), *left])
    assert lake.accepted() == lost
    lake.topics.send(one.topic, 2)
    lake.land()
    assert len(lake.rows()) == 16


def test_nothing_but_what_is_lost_can_be_accepted(
    lake: Lake, lost: list[Loss], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither more nor less nor elsewhere: the sentence names what is lost, nothing is recorded."""
    one, other = lost
    for wrong in ("0:5-9", "0:4-7", "0:6-7", "2:5-7"):
        named = f"{one.topic}/{wrong}"
        with pytest.raises(SystemExit) as ended:
            lake.accept(parse_loss(named))
        assert ended.value.code == 2
        sentence = capsys.readouterr().err.splitlines()[-1]
        assert sentence == f"{named} is not lost; what is: {one}, {other}"
    assert lake.accepted() == []


def test_landed_records_that_kafka_deleted_are_no_loss(lake: Lake) -> None:
    """If the checkpoint does not know of the last rows, landing goes on behind them."""
    first, _ = lake.topics.names
    lake.topics.send(first, 10)
    lake.land()
    for commit in (lake.root / "checkpoint" / "commits").iterdir():
        commit.unlink()
    lake.topics.send(first, 4)
    lake.topics.forget(first, below=5)

    lake.land()

    assert lake.rows() == each_once(14)


def test_a_new_lake_begins_where_kafka_does(lake: Lake) -> None:
    """What expired before a lake was made is not missed in it."""
    first, _ = lake.topics.names
    lake.topics.send(first, 10)
    lake.topics.forget(first, below=2)
    lake.land()
    assert lake.rows() == [at for at in each_once(10) if at[1] >= 2]


def test_a_loss_is_read_as_it_is_named() -> None:
    """TOPIC/PARTITION:FROM-TO, and a sentence about anything else."""
    loss = Loss("order.events", 0, 5, 7)
    assert parse_loss(str(loss)) == loss
    for wrong in ("order.events", "order.events/0", "order.events/0:5", "order.events/0:7-5"):
        with pytest.raises(ArgumentTypeError, match=r"order\.events/0:5-7"):
            parse_loss(wrong)


def test_a_loss_is_what_lies_between_landing_and_kafka() -> None:
    """Neither what has landed nor what is still there is lost."""
    reached = {("a", 0): 5, ("a", 1): 8, ("b", 0): 9}
    begins = {("a", 0): 8, ("a", 1): 8, ("b", 0): 0}
    assert find_losses(reached, begins) == [Loss("a", 0, 5, 7)]
