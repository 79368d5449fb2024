"""Dedup stores that keep no row for each message: what is handled, dropped, lost and doubled."""

from hashlib import sha256

import pytest
from pyspark.sql import SparkSession

from contract.names import INPUT_TOPIC
from spark.hops import TRACKING_TO_OUTBOX, input_to_tracking
from spark.judging.outcome import count_outcomes, first_findings
from tests.spark.world import World

INPUT = input_to_tracking(INPUT_TOPIC)
Found = set[tuple[str, str, str]]


@pytest.fixture
def world() -> World:
    """Orders with every outcome, handled by a store that keeps no row for each message."""
    world = World(is_tracked=False)
    for message_id in ("kept", "doubled", "lost"):
        world.fulfill(message_id)
    world.reject("rejected", fulfilled_by="kept")
    world.order("kept")  # a redelivery
    world.bury(world.order("poison", b"poison"))
    world.tables["tracking"].clear()
    return world


def findings(world: World, spark: SparkSession) -> Found:
    """Hop, outcome and id of whatever is wrong."""
    found = first_findings(world.judged(spark))
    return {(row["hop"], row["outcome"], row["id"]) for row in found}


def drop(world: World, message_id: str, value: bytes = b"an order") -> None:
    """Note what the store has dropped, as its transaction does."""
    row = {"message_id": message_id, "sha256": sha256(value).hexdigest()}
    world.tables["dropped"].append(row)


def test_what_is_handled_needs_no_tracking_row(world: World, spark: SparkSession) -> None:
    """Fulfillments, rejections, repeats and dead letters are matched; each message counts once."""
    judged = world.judged(spark).persist()
    assert first_findings(judged) == []
    counts = {row["hop"]: row for row in count_outcomes(judged)}
    assert (counts[INPUT]["in"], counts[INPUT]["duplicates_removed"]) == (6, 1)
    assert counts[TRACKING_TO_OUTBOX]["matched"] == 4


def test_control_a_store_with_rows_misses_them(world: World, spark: SparkSession) -> None:
    """Control: where each message has to have a row, all of them seem to be lost."""
    world.is_tracked = True
    assert len({one for one in findings(world, spark) if one[0] == INPUT}) == 5


def test_what_is_dropped_is_not_lost(world: World, spark: SparkSession) -> None:
    """A record that came out of sequence is accounted for, and so are its copies.

    Control: without the row of its transaction it is lost.
    """
    positions = [world.order("old"), world.order("old")]
    drop(world, "old")
    assert findings(world, spark) == set()
    world.tables["dropped"].clear()
    assert findings(world, spark) == {(INPUT, "missing", position) for position in positions}


def test_a_worker_that_was_slower_has_dropped_nothing(world: World, spark: SparkSession) -> None:
    """Of two workers with one message, the second notes that it dropped what the first handled."""
    drop(world, "kept")
    assert findings(world, spark) == set()


def test_what_is_lost_or_doubled_is_found(world: World, spark: SparkSession) -> None:
    """A message without any row is missing at its position; one with two events is a duplicate."""
    position = world.order("nowhere")
    world.remove("fulfillment", message_id="lost")
    event = world.find("outbox", event_id="event-doubled")
    world.publish("event-again", event["topic"], event["key"], {"message_id": "doubled"})
    found = findings(world, spark)
    assert (INPUT, "missing", position) in found
    assert ("tracking → fulfillment or rejection", "missing", "lost") in found
    assert (TRACKING_TO_OUTBOX, "duplicate", "doubled") in found


def test_another_value_than_the_one_that_was_handled_is_missing(
    world: World, spark: SparkSession
) -> None:
    """What the business knows by another value than any record has is no proof of it."""
    fulfillment = world.find("fulfillment", message_id="kept")
    fulfillment["sha256"] = sha256(b"another order").hexdigest()
    assert {outcome for hop, outcome, _ in findings(world, spark) if hop == INPUT} == {"missing"}
