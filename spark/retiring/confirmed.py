"""What retention has just deleted, confirmed at once: the next run need not judge everything.

A run that starts from a horizon reads nothing that is old, so it cannot tell what went since. Here
it is known: the note of tracking rows must have grown by what landed at the offsets by which it has
grown.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

import psycopg
from pyspark.sql import SparkSession

from contract.names import DATABASE
from spark.judging.horizon import Horizon, read_horizon, replace_horizon
from spark.judging.shares import OF_TRACKING
from spark.kafka.positions import Position
from spark.lake.landed_tables import read_within
from spark.rows.frames import RANGES_SCHEMA, STATEMENTS, identify_landed, query
from spark.rows.retired_landed import SUMS_SCHEMA
from spark.session import log_progress, make_frame
from spark.settings import Settings
from spark.topics import Topics

SUMS = """
    select concat_ws('/', topic, partition), messages, digest::text
    from forgotten
    where subscriber = %s
"""
OFFSETS = """
    select concat_ws('/', topic, partition, stretch), offsets::text
    from forgotten_offsets
    where subscriber = %s
"""
NEWLY_FORGOTTEN = """
    select topic, partition, lower(range), upper(range)
    from forgotten_offsets
    cross join unnest(
        offsets
        - coalesce(%s::jsonb->>concat_ws('/', topic, partition, stretch), '{}')::int8multirange
    ) as range
    where subscriber = %s
"""


class Sum(NamedTuple):
    """What is forgotten of a partition."""

    messages: int
    digest: int

    def describe(self) -> str:
        """Return it in the words of the frames that are compared."""
        return f"{self.messages} messages, digest {self.digest}"

    def grown_by(self, earlier: "Sum") -> "Sum":
        """Return what is forgotten since."""
        return Sum(self.messages - earlier.messages, self.digest - earlier.digest)


class Notes(NamedTuple):
    """What is forgotten of all partitions."""

    sums: Mapping[str, Sum]  # by topic/partition
    offsets: Mapping[str, str]  # by topic/partition/stretch, as PostgreSQL writes them

    def describe(self) -> dict[str, str]:
        """Return the sums as a horizon has them."""
        return {place: sum_.describe() for place, sum_ in self.sums.items()}


Ranges = list[tuple[str, int, int, int]]  # topic, partition, first offset, and where it stops
NOTHING = Sum(0, 0)


def read_notes(session: psycopg.Connection, subscriber: str) -> Notes:
    """Return what is forgotten by now."""
    sums = {}
    for place, messages, digest in session.execute(SUMS, (subscriber,)):
        sums[place] = Sum(messages, int(digest))
    offsets: dict[str, str] = dict(session.execute(OFFSETS, (subscriber,)).fetchall())
    return Notes(sums, offsets)


def confirm_forgotten(
    spark: SparkSession,
    settings: Settings,
    session: psycopg.Connection,
    before: Notes,
    written_before: int,
) -> None:
    """Let the next run take what is forgotten as judged, if the note of it says what landed."""
    after = read_notes(session, settings.subscriber)
    grown = {}
    for place, sum_ in after.sums.items():
        since = sum_.grown_by(before.sums.get(place, NOTHING))
        if since.messages:
            grown[place] = since.describe()
    if grown != read_landed_at(spark, settings, find_new(session, settings, before)):
        log_progress("the note does not say what landed there: the next run judges everything")
        return
    horizon = read_horizon(spark, settings.delta_root, settings.subscriber)
    if horizon and horizon.forgotten == before.describe():
        judged = horizon._replace(forgotten=after.describe())
        noted = note_deleted(judged, DATABASE, OF_TRACKING, written_before)
        replace_horizon(spark, settings.delta_root, settings.subscriber, noted)


def note_retired(
    spark: SparkSession, settings: Settings, database: str, part: str, written_before: int
) -> None:
    """Let the next run take rows that are deleted as judged; they have a note of their own."""
    horizon = read_horizon(spark, settings.delta_root, settings.subscriber)
    if horizon:
        noted = note_deleted(horizon, database, part, written_before)
        replace_horizon(spark, settings.delta_root, settings.subscriber, noted)


def note_deleted(horizon: Horizon, database: str, part: str, written_before: int) -> Horizon:
    """Return the horizon that knows: what shares of this part add up to is not what they did."""
    noted = horizon.deleted_before or {}
    of_database = noted.get(database, {})
    latest = max(written_before, of_database.get(part, 0))
    deleted_before = {**noted, database: {**of_database, part: latest}}
    return horizon._replace(deleted_before=deleted_before)


def find_new(session: psycopg.Connection, settings: Settings, before: Notes) -> Ranges:
    """Return the offsets that are forgotten since."""
    earlier = json.dumps(before.offsets)
    return session.execute(NEWLY_FORGOTTEN, (earlier, settings.subscriber)).fetchall()


def read_landed_at(spark: SparkSession, settings: Settings, ranges: Ranges) -> dict[str, str]:
    """Return what landed at these offsets, by partition, in the words of a note."""
    bounds: dict[Position, range] = {}
    for topic, partition, start, stop in ranges:
        wider = bounds.get((topic, partition), range(start, stop))
        bounds[topic, partition] = range(min(start, wider.start), max(stop, wider.stop))
    tables = read_within(spark, settings.delta_root, [settings.input_topic], bounds)
    topics = Topics(settings.input_topic, settings.input_topic, ())
    offsets = {"ranges": make_frame(spark, ranges, RANGES_SCHEMA)}
    landed = {
        "landed": identify_landed(tables, bounds, topics),
        "forgotten_offset": query(STATEMENTS["expected_offset"], offsets),
    }
    sums = {
        "forgotten_tracking": query(STATEMENTS["forgotten_tracking"], landed),
        "noted": make_frame(spark, [], SUMS_SCHEMA),
    }
    found = query(STATEMENTS["forgotten_landed"], sums)
    return {row.place: row.contents for row in found.collect()}
