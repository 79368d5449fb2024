"""A topic that is deleted and created again: no record of it is taken for an earlier one."""

import shutil
from argparse import ArgumentTypeError
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark.kafka.topic_ids import Later, find_recreated, find_topic_ids
from spark.lake.losses import Loss
from spark.land import land, parse_accepted
from spark.landing.landing_query import accept_later, append_batch
from tests.own_service import make_again
from tests.spark.topics import HELD, PARTITIONS, Topics, each_once, land_once, rows_of

SENTENCE = "deleted and created again since it landed: {later}. What the earlier topic had"


class Lake(NamedTuple):
    """A lake of two topics, the first of which is created again."""

    spark: SparkSession
    topics: Topics
    root: Path

    def land(self) -> None:
        """Land what is there, as `land --once` does in a process of its own."""
        land_once(self.spark, self.topics, self.root)

    def accept(self, later: Later) -> None:
        """Accept what is lost, as `land --accept-loss` does."""
        accept_later(self.spark, self.topics.settings(self.root), self.topics.names, [later])

    def make_again(self) -> Later:
        """Delete the first topic and create it again."""
        first, _ = self.topics.names
        make_again(first, PARTITIONS)
        topic_ids = find_topic_ids(self.topics.admin, [first])
        return Later(first, topic_ids[first])

    def rows(self) -> dict[str, list[tuple[int, int]]]:
        """Return the partition and offset of each row by what its topic is called."""
        found = defaultdict(list)
        for topic in self.topics.names:
            for row in rows_of(self.root, topic):
                found[row["topic"]].append((row["partition"], row["offset"]))
        return dict(found)


@pytest.fixture
def lake(spark: SparkSession, topics: Topics, tmp_path: Path) -> Lake:
    """A lake in which ten records of each topic have landed."""
    made = Lake(spark, topics, tmp_path)
    for topic in topics.names:
        topics.send(topic, 10)
    made.land()
    return made


@pytest.mark.parametrize("count", [4, 30])
def test_a_topic_that_is_created_again_stops_landing_and_then_lands_beside(
    lake: Lake, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shorter or longer than the earlier one, it ends the job with its name: exit code 2.

    Once that is accepted it lands from its beginning, and the earlier rows stay.
    """
    first, second = lake.topics.names
    later = lake.make_again()
    lake.topics.send(first, count)
    with pytest.raises(SystemExit) as ended:
        lake.land()
    assert ended.value.code == 2
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith(SENTENCE.format(later=later))
    assert sentence.endswith(f"accepts it: land --accept-loss {later}")

    lake.accept(later)
    lake.land()

    earlier = {first: each_once(10), second: each_once(10)}
    assert lake.rows() == earlier | {str(later): each_once(count)}
    shutil.rmtree(lake.root / "checkpoint")
    lake.topics.send(first, 2)
    lake.land()
    rows = lake.rows()[str(later)]
    assert (len(rows), len(set(rows))) == (count + 2, count + 2)


def test_control_without_ids_the_beginning_of_the_later_topic_is_passed_over(lake: Lake) -> None:
    """A lake that knows no ids takes it for the earlier topic, and says nothing."""
    first, _ = lake.topics.names
    shutil.rmtree(lake.root / "topic")
    lake.make_again()
    lake.topics.send(first, 30)
    lake.land()
    assert lake.rows()[first] == each_once(30), "ten rows of the earlier topic, twenty of the later"


def test_records_that_the_later_topic_has_lost_are_named(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    """What expires before it lands is a loss of the topic that is there, by its own name."""
    first, _ = lake.topics.names
    later = lake.make_again()
    lake.topics.send(first, 10)
    lake.topics.forget(first, below=2)
    lake.accept(later)
    with pytest.raises(SystemExit):
        lake.land()
    losses = [Loss(str(later), partition, 0, 1) for partition in range(PARTITIONS)]
    one, other = losses
    assert f"before they landed: {one}, {other}. " in capsys.readouterr().err


@pytest.mark.parametrize("protection", ["on", "off"])
def test_a_topic_that_is_created_again_while_it_lands_stops_the_job(
    lake: Lake,
    protection: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No record of it lands as one of the earlier topic, although Spark reads on at its offsets.

    The control: without a look at the ids after each batch, they do.
    """
    first, _ = lake.topics.names
    lake.topics.send(first, 40)
    made: list[Later] = []

    def append(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        append_batch(rows, path, query_id, batch_id)
        if not made:
            made.append(lake.make_again())
            lake.topics.send(first, 60)

    monkeypatch.setattr("spark.land.find_append", lambda: append)
    if protection == "off":
        monkeypatch.setattr("spark.landing.landing_query.confirm", lambda *_: None)
    settings = lake.topics.settings(lake.root).model_copy(update={"land_max_offsets": 10})

    def land_all() -> None:
        land(lake.spark, settings, lake.topics.names, HELD, once=True)

    if protection == "off":
        land_all()
        assert lake.rows()[first] == each_once(50)
        return
    with pytest.raises(SystemExit) as ended:
        land_all()
    assert ended.value.code == 2
    [later] = made
    assert SENTENCE.format(later=later) in capsys.readouterr().err
    assert lake.rows()[first] == each_once(20)


def test_nothing_but_what_was_created_again_can_be_accepted(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence names what was; nothing is noted."""
    first, _ = lake.topics.names
    with pytest.raises(SystemExit) as ended:
        lake.accept(Later(first, "AAAA"))
    assert ended.value.code == 2
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence == f"{first}@AAAA was not created again since it landed; what was: nothing"


def test_what_is_accepted_is_read_as_it_is_named() -> None:
    """Offsets of a topic, or a topic that was created again; a sentence about anything else."""
    for accepted in (
        Loss("order.events", 0, 5, 7),
        Loss("order.events@7Jl2_-x", 0, 5, 7),
        Later("order.events", "7Jl2_-x"),
    ):
        assert parse_accepted(str(accepted)) == accepted
    with pytest.raises(ArgumentTypeError, match=r"order\.events@ is not"):
        parse_accepted("order.events@")


def test_what_was_landed_of_either_topic_takes_a_person_to_repair() -> None:
    """A repair would read the later topic at offsets of the earlier one, or change both."""
    seen = {"a": {"1": "a", "2": "a@2"}, "b": {"3": "b"}}
    assert find_recreated(["a/0/5", "a@2/0/5", "b/0/5"], seen) == {"a/0/5", "a@2/0/5"}
