"""What both sides hold at positions that cannot move any more."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from access.kafka import kafka_connection
from spark.hops import TOPICS_TO_LANDED
from spark.judging.horizon import (
    Horizon,
    ends_of,
    is_new,
    refuse_other_databases,
    refuse_other_topics,
)
from spark.judging.standstill import Behind, GroupLook, Patience, look_at_group
from spark.kafka import positions
from spark.kafka.positions import Position
from spark.kafka.topic_ids import Seen, earlier_names, find_topic_ids, name_topics, read_seen
from spark.lake.landed_tables import is_landed, landed_positions, read_landed
from spark.landing.landing_query import hold_landing, landed_so_far, start_landing
from spark.parts import Part
from spark.rows.frames import Frames, read_ledger
from spark.rows.held import hold_rows
from spark.rows.snapshot import (
    Holder,
    Select,
    Selection,
    Snapshot,
    open_snapshots,
    read_tables,
    read_tables_of_extras,
    select_all,
)
from spark.session import exit_with_error, log_progress, prepare_for
from spark.settings import Settings
from spark.topics import Topics, topics_to_land


def use_nothing(_found: Any) -> None:
    """Use nothing of what a run has found."""


class Options(NamedTuple):
    """What one run is asked to do."""

    land: bool  # first land what is there
    ledger: str | None  # a file or folder with what producers saw acknowledged
    deadline: float  # for settling, on the clock of time.monotonic
    full: bool = False  # judge everything, whatever earlier runs have judged
    use: Callable[[Any], object] = (
        use_nothing  # is given what was found, while its rows are still held
    )


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
    not_passed: Mapping[str, str]  # the slots that do not get there, each with a sentence
    snapshots: Mapping[str, Snapshot]  # of each database; of all rows, they are released
    holders: Sequence[Holder] = ()  # the oldest transactions, if they are too old

    def log_positions(self) -> dict[str, str]:
        """Return what each slot must have passed."""
        return {one.slot: one.moment.lsn for one in self.snapshots.values()}


class Settled(NamedTuple):
    """Everything that is compared but the lake, and what is not there yet."""

    topics: Topics
    topic_ids: Mapping[str, str]
    seen: Seen  # the topics that were deleted and created again
    group: GroupLook
    databases: Databases
    extent: Extent
    behind: list[Behind]  # if the landing does not get to the end of the extent
    patience: Patience  # what is left of it


@contextmanager
def settle(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    options: Options,
    horizon: Horizon | None = None,
) -> Iterator[Settled]:
    """Read positions and databases, and have everything landed, or wait until it is.

    In this sequence, what is committed has its rows in the snapshot, and what is in the snapshot
    has its events below the end offsets. From a horizon, only the rows written since are read, and
    the moments of the databases are held for a look at others.
    """
    patience = Patience(options.deadline, settings.reconcile_behind_seconds)
    topics = topics_to_land(settings, parts)
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    partitions = positions.partitions_of(admin, topics.all())
    seen = read_seen(spark, settings.delta_root)
    topic_ids = find_topic_ids(admin, topics.all())
    names_of_rows = name_topics(seen, topic_ids)
    topics = topics._replace(input_name=names_of_rows[topics.input])

    group = look_at_group(admin, settings.group_id, topics.input)
    password_file = settings.reconciler_password_file
    with open_snapshots(settings.databases(), password_file) as snapshots:
        select = select_since(horizon, snapshots) if horizon else select_all
        frames = read_tables(spark, settings.subscriber, snapshots, select)
        frames |= read_tables_of_extras(spark, snapshots, parts)
        frames["ledger"] = read_ledger(spark, options.ledger)
        holders = find_holders(snapshots.values(), settings.reconcile_behind_seconds)
        frames, rows = persist_all(frames)
        prepare_for(spark, rows)
        log_progress(f"{rows:,} rows of the databases are read")
        if not horizon:
            release_all(snapshots)
        not_passed = wait_for_slots(snapshots, patience)
        databases = Databases(frames, rows, not_passed, snapshots, holders)
        former = former_topics(spark, settings, topics, databases.frames["outbox"])
        in_kafka = positions.current_offsets(admin, partitions, last=topics.input)
        current = positions.rename(in_kafka, names_of_rows)
        if horizon:
            refuse_other_topics(horizon, topic_ids, ends_of(current.items()))

        has_landed = options.land and land_here(spark, settings, topics)
        behind = []
        if not has_landed:
            behind = wait_until_landed(spark, settings, topics, current, patience)
        if former:
            events = (*topics.events, *former)
            topics = topics._replace(events=events)
            tables = read_landed(spark, settings.delta_root, former)
            current |= landed_positions(tables)
        extent = Extent(current, earlier_positions(spark, settings, seen))
        yield Settled(topics, topic_ids, seen, group, databases, extent, behind, patience)


def select_since(horizon: Horizon, snapshots: Mapping[str, Snapshot]) -> Select:
    """Select what was written since the horizon, and what was still late at it."""
    moments = {name: snapshot.moment for name, snapshot in snapshots.items()}
    refuse_other_databases(horizon, moments)

    def select(database: str, _frame: str) -> Selection:
        is_written_since = f"written_by >= {horizon.read_from[database]}"
        return Selection(
            rows=is_written_since,
            is_new=is_new(horizon.moments[database]),
            tracking_rows=is_written_since,  # a message's rows are of one transaction
            ranges="false",  # nothing is made again
        )

    return select


def find_holders(snapshots: Iterable[Snapshot], longer_than_seconds: float) -> list[Holder]:
    """Return the transactions that hold the horizon back, the oldest first.

    Databases of one server know the same ones.
    """
    found = {holder for one in snapshots for holder in one.held_by(longer_than_seconds)}
    return sorted(found, key=lambda holder: holder.since)


def release_all(snapshots: Mapping[str, Snapshot]) -> None:
    """Let every database clean up again: all that is needed of these moments is read."""
    for snapshot in snapshots.values():
        snapshot.release()


def wait_for_slots(snapshots: Mapping[str, Snapshot], patience: Patience) -> dict[str, str]:
    """Wait until Connect has published what the databases held; tell which slots do not get there.

    Their reader is behind.
    """
    not_passed = {}
    for snapshot in snapshots.values():
        sentence = patience.wait_until_settled(snapshot.behind)
        if sentence:
            not_passed[snapshot.slot] = sentence
    return not_passed


def persist_all(frames: Frames) -> tuple[Frames, int]:
    """Read all frames in one job, and keep their rows; return them and the number of rows.

    Of a frame without rows Spark is told so: it then plans nothing for it, wherever it is used.
    """
    frames = hold_rows(frames)
    names = [frame.select(F.lit(name).alias("name")) for name, frame in frames.items()]
    counted = reduce(DataFrame.union, names).groupBy("name").count().collect()
    counts = {row["name"]: row["count"] for row in counted}
    kept = {
        name: frame if name in counts else frame.where("false") for name, frame in frames.items()
    }
    return kept, sum(counts.values())


def former_topics(
    spark: SparkSession, settings: Settings, topics: Topics, outbox: DataFrame
) -> list[str]:
    """Return the topics that outbox rows went to when an extra was here, and that landed then.

    End the job if a topic of the outbox never landed: all of its events would seem to be missing.
    """
    rows = outbox.select("topic").distinct().collect()
    sent_to = {row.topic for row in rows}
    still_written = set(topics.events)
    former = sorted(sent_to - still_written)
    for topic in former:
        if not is_landed(spark, settings.delta_root, topic):
            exit_with_error(
                f"topic {topic} is not landed, but outbox rows go to it:"
                " name it in contract/events.py, or in the Spark part of its extra"
            )
    return former


def land_here(spark: SparkSession, settings: Settings, topics: Topics) -> bool:
    """Land what is there now; return False if another landing is at work."""
    try:
        with hold_landing(spark, settings, topics.all()):
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
