"""What both sides hold at positions that cannot move any more."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark import positions
from spark.frames import Frames, read_ledger
from spark.hops import TOPICS_TO_LANDED
from spark.landed_tables import is_landed, landed_positions, read_landed
from spark.landing_query import landed_so_far, start_landing
from spark.lock import exclusive_lock
from spark.parts import Part
from spark.positions import Position
from spark.session import exit_with_error, log_progress
from spark.settings import Settings
from spark.snapshot import open_snapshots, read_tables
from spark.standstill import Behind, GroupLook, Patience, look_at_group
from spark.topic_ids import Seen, earlier_names, find_topic_ids, name_topics, read_seen
from spark.topics import Topics, topics_to_land


class Options(NamedTuple):
    """What one run is asked to do."""

    land: bool  # first land what is there
    ledger: str | None  # a file or folder with what producers saw acknowledged
    deadline: float  # for settling, on the clock of time.monotonic


class Extent(NamedTuple):
    """The offsets of each partition, by what rows of its topic are called."""

    current: Mapping[Position, range]  # what Kafka holds
    earlier: Mapping[Position, range]  # what landed of topics that were deleted and created again

    def all(self) -> dict[Position, range]:
        """Return both."""
        return {**self.current, **self.earlier}


class Databases(NamedTuple):
    """What the databases held, and how far Connect has read their logs."""

    frames: Frames
    rows: int  # of all frames together
    log_positions: Mapping[str, str]  # of each outbox slot: what it must have passed
    not_passed: Mapping[str, str]  # the slots that have not, each with a sentence


class Settled(NamedTuple):
    """Everything that is compared but the lake, and what is not there yet."""

    topics: Topics
    seen: Seen  # the topics that were deleted and created again
    group: GroupLook
    databases: Databases
    extent: Extent
    behind: list[Behind]  # if the landing does not get to the end of the extent
    patience: Patience  # what is left of it


def settle(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    options: Options,
) -> Settled:
    """Read positions and databases, and have everything landed, or wait until it is.

    In this sequence, what is committed has its rows in the snapshot, and what is in the snapshot
    has its events below the end offsets.
    """
    patience = Patience(options.deadline, settings.reconcile_behind_seconds)
    topics = topics_to_land(settings, parts)
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    partitions = positions.partitions_of(admin, topics.all())
    seen = read_seen(spark, settings.delta_root)
    names_of_rows = name_topics(seen, find_topic_ids(admin, topics.all()))
    topics = topics._replace(input_name=names_of_rows[topics.input])

    group = look_at_group(admin, settings.group_id, topics.input)
    databases = read_databases(spark, settings, parts, options.ledger, patience)
    retired = retired_topics(spark, settings, topics, databases.frames["outbox"])
    in_kafka = positions.current_offsets(admin, partitions, last=topics.input)
    current = positions.rename(in_kafka, names_of_rows)

    has_landed = options.land and land_here(spark, settings, topics)
    behind = [] if has_landed else wait_until_landed(spark, settings, topics, current, patience)
    if retired:
        events = (*topics.events, *retired)
        topics = topics._replace(events=events)
        tables = read_landed(spark, settings.delta_root, retired)
        current |= landed_positions(tables)
    extent = Extent(current, earlier_positions(spark, settings, seen))
    return Settled(topics, seen, group, databases, extent, behind, patience)


def read_databases(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    ledger: str | None,
    patience: Patience,
) -> Databases:
    """Read each database at one moment, and wait until Connect has published what it held.

    A slot that does not get there is told: its reader is behind.
    """
    password_file = settings.reconciler_password_file
    with open_snapshots(settings.databases(), password_file) as of_database:
        frames = read_tables(spark, settings.subscriber, of_database, parts)
        frames["ledger"] = read_ledger(spark, ledger)
        rows = persist_all(frames.values())
        log_progress(f"{rows:,} rows of the databases are read")
        snapshots = of_database.values()
        for snapshot in snapshots:
            snapshot.release()
        not_passed = {}
        for snapshot in snapshots:
            sentence = patience.wait_until_settled(snapshot.behind)
            if sentence:
                not_passed[snapshot.slot] = sentence
    log_positions = {snapshot.slot: snapshot.lsn for snapshot in snapshots}
    return Databases(frames, rows, log_positions, not_passed)


def persist_all(frames: Iterable[DataFrame]) -> int:
    """Read all frames in one job, and keep them in memory; return how many rows they have."""
    rows = []
    for frame in frames:
        frame.persist()
        rows.append(frame.selectExpr("1"))
    rows_of_all = reduce(DataFrame.union, rows)
    return rows_of_all.count()


def retired_topics(
    spark: SparkSession, settings: Settings, topics: Topics, outbox: DataFrame
) -> list[str]:
    """Return the topics that outbox rows went to when an extra was here, and that landed then.

    End the job if a topic of the outbox never landed: all of its events would seem to be missing.
    """
    rows = outbox.select("topic").distinct().collect()
    sent_to = {row.topic for row in rows}
    still_written = set(topics.events)
    retired = sorted(sent_to - still_written)
    for topic in retired:
        if not is_landed(spark, settings.delta_root, topic):
            exit_with_error(
                f"topic {topic} is not landed, but outbox rows go to it:"
                " name it in contract/events.py, or in the Spark part of its extra"
            )
    return retired


def land_here(spark: SparkSession, settings: Settings, topics: Topics) -> bool:
    """Land what is there now; return False if another landing is at work."""
    try:
        with exclusive_lock(settings.delta_root, "land"):
            query = start_landing(spark, settings, topics.all(), once=True)
            query.awaitTermination()
    except BlockingIOError:
        return False
    return True


def wait_until_landed(
    spark: SparkSession,
    settings: Settings,
    topics: Topics,
    current: Mapping[Position, range],
    patience: Patience,
) -> list[Behind]:
    """Wait for the landing that is at work elsewhere; tell if it does not get there."""

    def left() -> dict[Position, range]:
        landed = landed_so_far(spark, settings.delta_root, topics.all())
        return positions.not_landed(landed, current)

    def behind() -> str:
        return positions.landing_behind(left())

    where = patience.wait_until_settled(behind)
    if not where:
        return []
    waiting = left()
    count = sum(len(offsets) for offsets in waiting.values())
    in_kafka = positions.in_kafka(waiting)
    since = positions.written_at(settings.kafka_bootstrap_servers, in_kafka)
    return [Behind(TOPICS_TO_LANDED, count, since, where)]


def earlier_positions(spark: SparkSession, settings: Settings, seen: Seen) -> dict[Position, range]:
    """Return what has landed of topics that were deleted and created again: it is all there is."""
    found: dict[Position, range] = {}
    for topic, earlier in earlier_names(seen).items():
        table = read_landed(spark, settings.delta_root, [topic])
        rows = table.where(F.col("topic").isin(*earlier))
        found |= landed_positions(rows)
    return found
