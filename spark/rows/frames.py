"""The frames of the comparison: landed records, the ledger, what is open, and joins of these."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contract.events import ACCEPTED, DEAD_LETTER, REASONS, REJECTED
from contract.pulse import PULSE_HEADER, PULSE_ID
from spark.kafka.positions import Position
from spark.lake.losses import Loss
from spark.parts import Part
from spark.session import make_frame
from spark.statements import read_statements
from spark.topics import Topics

LEDGER_SCHEMA = """
    topic string,
    partition int,
    offset bigint,
    value_sha256 string,
    message_id string,
    expected string
"""
RANGES_SCHEMA = "topic string, partition int, start bigint, stop bigint"
OFFSETS_OF_A_ROW = 100_000
OFFSETS_OF_A_TASK = 1_000_000
STATEMENTS_FILE = Path(__file__).with_name("frames.sql")
STATEMENTS = read_statements(STATEMENTS_FILE)
DERIVED = (
    "acknowledged",
    "actual_outcome",
    "dropped_record",
    "forgotten_landed",
    "forgotten_place",
    "lost_acknowledged",
    "lost_handled",
    "redelivery",
    "rejected",
)

Frames = dict[str, DataFrame]
Stretch = tuple[str, int, int, int]  # topic, partition, first offset, and the one behind the last


def query(sql: str, frames: Mapping[str, DataFrame], **values: Any) -> DataFrame:
    """Return the result of Spark SQL over frames and values, both named in braces.

    Each frame is passed as a new one: Spark drops its view afterwards, and what it has persisted.
    """
    views: dict[str, Any] = {}
    for name, frame in frames.items():
        is_named = f"{{{name}}}" in sql
        if is_named:
            views[name] = frame.where("true")
    any_frame = next(iter(frames.values()))
    session = any_frame.sparkSession
    return session.sql(sql, **views, **values)


def read_ledger(spark: SparkSession, file: str | None) -> DataFrame:
    """Return what a producer saw acknowledged; nothing, if there is no ledger."""
    if file is None:
        lines = make_frame(spark, [], LEDGER_SCHEMA)
    else:
        lines = spark.read.json(file, LEDGER_SCHEMA, mode="FAILFAST")
    frames = {"ledger": lines}
    return query(STATEMENTS["ledger"], frames)


def identify_landed(
    landed: DataFrame, current: Mapping[Position, range], topics: Topics
) -> DataFrame:
    """Return the landed records below the end offsets, with the ids by which hops know them."""
    ends = end_offsets(current)
    values = {
        "ends": json.dumps(ends),
        "input_topic": topics.input,
        "event_topics": ",".join(topics.events),
        "pulse_header": PULSE_HEADER,
        "pulse_id": f"^{PULSE_ID}$",
    }
    frames = {"landed": landed}
    return query(STATEMENTS["landed"], frames, **values)


def end_offsets(current: Mapping[Position, range]) -> dict[str, int]:
    """Return the end offset of each topic/partition."""
    ends = {}
    for (topic, partition), offsets in current.items():
        ends[f"{topic}/{partition}"] = offsets.stop
    return ends


def expected_offsets(spark: SparkSession, ranges: Mapping[Position, range]) -> DataFrame:
    """Return the position of every offset that must have landed."""
    rows = []
    for (topic, partition), offsets in ranges.items():
        if offsets:
            row = (topic, partition, offsets.start, offsets.stop)
            rows.append(row)
    return offsets_of(spark, rows)


def lost_offsets(spark: SparkSession, losses: Iterable[Loss]) -> DataFrame:
    """Return the position of every offset that will never land, which somebody has accepted."""
    rows = [(loss.topic, loss.partition, loss.first, loss.last + 1) for loss in losses]
    return offsets_of(spark, rows)


def remember_forgotten(frames: Frames) -> Frames:
    """Return the tracking rows with those that were forgotten, made again from landed records."""
    if frames["forgotten_range"].isEmpty():
        nothing = frames["tracking"].where("false")
        return {"forgotten_offset": nothing.select("position"), "forgotten_tracking": nothing}
    given = {"ranges": frames["forgotten_range"]}
    offsets = query(STATEMENTS["expected_offset"], given)
    sources = {"landed": frames["landed"], "forgotten_offset": offsets}
    forgotten = query(STATEMENTS["forgotten_tracking"], sources)
    tracking = frames["tracking"].unionByName(forgotten, allowMissingColumns=True)
    return {
        "forgotten_offset": offsets,
        "forgotten_tracking": forgotten,
        "tracking": tracking,
    }


def remember_handled(frames: Frames) -> DataFrame:
    """Return tracking rows for messages that a dedup store without such rows has let pass.

    What tracking has of earlier messages stays.
    """
    handled = query(STATEMENTS["handled"], frames)
    return frames["tracking"].unionByName(handled, allowMissingColumns=True)


def offsets_of(spark: SparkSession, stretches: Sequence[Stretch]) -> DataFrame:
    """Return the position of every offset in these stretches."""
    return query(STATEMENTS["expected_offset"], {"ranges": divide_stretches(spark, stretches)})


def divide_stretches(spark: SparkSession, stretches: Sequence[Stretch]) -> DataFrame:
    """Return stretches of offsets as rows, long ones in pieces, and many of them in several tasks.

    Spark keeps in memory all that it makes of one row. Rows that are made here are in one task.
    """
    pieces = [piece for stretch in stretches for piece in divide_stretch(stretch)]
    ranges = make_frame(spark, pieces, RANGES_SCHEMA)
    offsets = sum(stop - start for _, _, start, stop in pieces)
    tasks = offsets // OFFSETS_OF_A_TASK
    return ranges.repartition(tasks) if tasks > 1 else ranges


def divide_stretch(stretch: Stretch) -> Iterator[Stretch]:
    """Give a stretch in pieces."""
    topic, partition, start, stop = stretch
    for first in range(start, stop, OFFSETS_OF_A_ROW):
        yield topic, partition, first, min(first + OFFSETS_OF_A_ROW, stop)


def place_ledger(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the ledger with the names that records of a topic have that was created again."""
    return query(STATEMENTS["placed_ledger"], frames)


def open_sources(
    frames: Mapping[str, DataFrame], topics: Topics, committed: Mapping[int, int]
) -> DataFrame:
    """Return what cannot be judged yet: from the committed offsets on, or parked.

    If the input topic was created again, only the records of the one that is there are above.
    """
    values = {
        "input_topic": topics.input,
        "input_name": topics.input_name,
        "committed": json.dumps(committed),
    }
    return query(STATEMENTS["open_source"], frames, **values)


def derive_frames(frames: Mapping[str, DataFrame], parts: Sequence[Part]) -> Frames:
    """Return the frames that follow from others: the core's, and those of the extras.

    What was tracked and fulfilled long ago is known beside what is compared, if not all is.
    """
    frames = {
        "known_tracking": frames["tracking"],
        "known_fulfillment": frames["fulfillment"],
        **frames,
    }
    values = {
        "accepted": ACCEPTED,
        "rejected": REJECTED,
        "reasons": ",".join(REASONS),
        "dead_letter_outcome": DEAD_LETTER,
    }
    derived = {}
    for name in DERIVED:
        sql = STATEMENTS[name]
        derived[name] = query(sql, frames, **values)
    for part in parts:
        for name, sql in part.frames.items():
            derived[name] = query(sql, frames)
    return derived
