"""Landed rows that nothing refers to any more: whole ranges of offsets, noted before they go."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from contract.events import EVENTS
from contract.names import AUDIT_DATABASE, DATABASE, OTHER_OUTBOXES
from spark.event_tables import update_table
from spark.judging.settled import persist_all
from spark.kafka.positions import Position, kafka_topic
from spark.lake.landed_tables import is_within, read_landed, table_path
from spark.lake.losses import read_accepted
from spark.lease import hold_lease
from spark.parts import Part
from spark.retiring.purge import STATEMENTS as QUERIES
from spark.retiring.purge import Limits, Old, Purge, connect, say_what_stays
from spark.rows.frames import (
    Frames,
    identify_landed,
    lost_offsets,
    query,
    remember_forgotten,
)
from spark.rows.retired import remake_entries
from spark.rows.retired_landed import (
    NOTE_SCHEMA,
    STATEMENTS,
    Retired,
    find_messages,
    note_path,
    read_retired,
    split_position,
)
from spark.rows.snapshot import open_snapshots, read_tables
from spark.run_id import RUN_ID
from spark.session import log_progress, make_frame
from spark.settings import SECONDS_OF_A_DAY, Settings
from spark.topics import topics_to_land

# Dead letters stay, and what an extra reads and publishes is its own.
OF_EVENTS = tuple(dict.fromkeys([*(event.topic for event in EVENTS), *OTHER_OUTBOXES]))
READ = (
    "tracking",
    "fulfillment",
    "rejection",
    "outbox",
    "audit_entry",
    "forgotten_range",
    "retired_entry_range",
)

# To find what can go, all of the lake is read. So it goes some days later than it may, together.
LATER = 1 / 20  # of the age

Stops = Mapping[Position, int]

REFERRED = "Kafka still has them, or what is kept refers to them or to earlier ones"


class Lake(NamedTuple):
    """What has landed and what refers to it."""

    tables: DataFrame  # as it landed
    landed: DataFrame  # with the ids by which hops know it
    frames: Frames  # of the databases, with tracking rows that were made again
    lost: DataFrame  # positions that were forgotten and will never land
    retired: Retired  # what is deleted already
    before: int  # what earlier transactions wrote is judged


class Going(NamedTuple):
    """What can go."""

    stops: Stops  # the first offset of each partition that stays
    messages: DataFrame  # of which nothing is left then but the row of the business


def find_old_landed(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], limits: Limits
) -> Purge:
    """Return what landed long ago, and nothing refers to it."""
    days = settings.retention_landed_days
    young = datetime.now(UTC) - timedelta(days=days)
    others = find_other_subscribers(settings)
    if others:
        stays = f"all stay: {', '.join(others)} may not have judged them"
        return Purge(Old("landed records", days, 0, None, stays), lambda: 0)
    retired = read_retired(spark, settings.delta_root)
    oldest_days = find_oldest_days(spark, settings, retired, as_text(young))
    reason = reason_to_wait(days, oldest_days, retired.looked_at)
    if reason is not None:
        old = Old("landed records", days, 0, None, reason)
        return Purge(old, lambda: delete_beside(0, partial(finish, spark, settings)))
    lake = read_lake(spark, settings, parts, limits)
    going = find_going(lake, settings.input_topic, limits, as_text(young))
    old = describe(lake, settings, going.stops, as_text(young))
    delete = partial(retire, spark, settings, lake, going)
    return Purge(old, lambda: delete_beside(old.rows, delete))


def delete_beside(rows: int, delete: Callable[[], None]) -> int:
    """Delete, and return how many rows go; none if another job is at work at them."""
    try:
        delete()
    except BlockingIOError:
        log_progress("landed rows stay: compact or tables is at work, and they go the next time")
        return 0
    return rows


def as_text(moment: datetime) -> str:
    """Return a moment as SQL reads it."""
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}"


def find_other_subscribers(settings: Settings) -> list[str]:
    """Return who else handles messages and rests on what has landed."""
    given = {"subscriber": settings.subscriber}
    with connect(settings, DATABASE) as session:
        return [name for (name,) in session.execute(QUERIES["other_subscribers"], given)]


def reason_to_wait(days: float, oldest_days: float, looked_at: datetime | None) -> str | None:
    """Return why nothing is looked for now, which is empty if nothing is old; None if it is time.

    Something may stay for months, such as the record of a message that is not audited. All of the
    lake is not read each day because of it.
    """
    if not oldest_days:
        return ""
    together = days * LATER
    if oldest_days <= days + together:
        return f"they go together, once one is {days + together:g} d old"
    if looked_at and days_since(looked_at) < together:
        return f"they go together, {together:g} d after the last: {looked_at:%Y-%m-%d %H:%M} UTC"
    return None


def days_since(moment: datetime) -> float:
    """Return how many days ago that was."""
    return (datetime.now(UTC) - moment).total_seconds() / SECONDS_OF_A_DAY


def find_oldest_days(
    spark: SparkSession, settings: Settings, retired: Retired, young: str
) -> float:
    """Return how many days ago the oldest landed that is not deleted; 0 if none is old enough.

    Files without old rows are not read.
    """
    tables = read_landed(spark, settings.delta_root, [settings.input_topic, *OF_EVENTS])
    old = tables.where(f"timestamp < timestamp '{young}'").where(retired.is_left())
    [(landed_at,)] = old.selectExpr("unix_millis(min(timestamp)) / 1000").collect()
    if landed_at is None:
        return 0
    return days_since(datetime.fromtimestamp(float(landed_at), UTC))


def read_lake(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], limits: Limits
) -> Lake:
    """Read what has landed and is not deleted, and the rows that may refer to it."""
    topics = topics_to_land(settings, parts)
    retired = read_retired(spark, settings.delta_root)
    read = read_landed(spark, settings.delta_root, [topics.input, *OF_EVENTS])
    tables = read.where(retired.is_left())
    landed = identify_landed(tables, limits.judged, topics).persist()
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        found = read_tables(spark, settings.subscriber, snapshots, only=READ)
        frames, _ = persist_all(found)
    frames["landed"] = landed
    frames |= {"live": frames["tracking"], **remember_forgotten(frames)}
    losses = [one.loss for one in read_accepted(spark, settings.delta_root)]
    lost = lost_offsets(spark, retired.clip(losses))
    lost = lost.join(frames["forgotten_offset"], "position", "left_semi")
    return Lake(tables, landed, frames, lost, retired, limits.before[DATABASE])


def find_going(lake: Lake, input_topic: str, limits: Limits, young: str) -> Going:
    """Return what can go: records first, and then the events of messages that are over."""
    of_input = {"landed": lake.landed.where("is_input"), "tracking": lake.frames["live"]}
    holds = query(STATEMENTS["input_holds"], of_input, young=young)
    stops = find_stops(lake, limits, [input_topic], holds)
    messages = find_over(lake, stops, lake.before).persist()
    entries = lake.frames["audit_entry"].selectExpr("audit_entry_id as event_id")
    of_events = {
        "landed": lake.landed.where(lake.landed.kafka_topic.isin(*OF_EVENTS)),
        "retired_message": messages,
        "kept": lake.frames["outbox"].select("event_id").union(entries),
    }
    holds = query(STATEMENTS["event_holds"], of_events, young=young)
    return Going(stops | find_stops(lake, limits, OF_EVENTS, holds), messages)


def find_stops(
    lake: Lake, limits: Limits, topics: Sequence[str], holds: DataFrame
) -> dict[Position, int]:
    """Return the first offset of each partition that stays: that of the first row that must."""
    firsts = {}
    for topic, partition, first in query(STATEMENTS["first_holds"], {"holds": holds}).collect():
        firsts[topic, partition] = first
    stops = {}
    for position, offsets in limits.judged.items():
        topic, partition = position
        if kafka_topic(topic) in topics and offsets.stop > 0:
            in_kafka = limits.log_starts.get(f"{topic}/{partition}", offsets.stop)
            first = min(offsets.stop, in_kafka, firsts.get(position, offsets.stop))
            stops[position] = max(first, lake.retired.stops.get(position, 0))
    return stops


def find_over(lake: Lake, stops: Stops, before: int) -> DataFrame:
    """Return the messages that only the business knows when records before these are gone."""
    remade = lake.frames["forgotten_tracking"].where(f"not {within(stops)}")
    live = lake.frames["live"]
    tracking = live.unionByName(remade, allowMissingColumns=True)
    return find_messages(lake.frames | {"tracking": tracking}, before)


def within(stops: Stops) -> str:
    """Return Spark SQL for whether a row is before these offsets."""
    ranges = {position: range(stop) for position, stop in stops.items()}
    return is_within(ranges) if ranges else "false"


def describe(lake: Lake, settings: Settings, stops: Stops, young: str) -> Old:
    """Return how much can go, and how much of what is as old cannot."""
    goes = within(stops)
    may_go = lake.landed.where(lake.landed.kafka_topic.isin(settings.input_topic, *OF_EVENTS))
    [(rows, oldest, stay)] = may_go.selectExpr(
        f"count_if({goes})",
        f"date_format(min(timestamp) filter (where {goes}), 'yyyy-MM-dd HH:mm:ss')",
        f"count_if(not {goes} and timestamp < timestamp '{young}')",
    ).collect()
    stays = say_what_stays({REFERRED: stay})
    return Old("landed records", settings.retention_landed_days, rows, oldest, stays)


def retire(spark: SparkSession, settings: Settings, lake: Lake, going: Going) -> None:
    """Note what goes, and then delete it; what was noted and not deleted yet goes as well."""
    root = settings.delta_root
    is_more = any(stop > lake.retired.stops.get(at, 0) for at, stop in going.stops.items())
    if is_more:
        with hold_lease(spark, root, "tables"):
            for event in EVENTS:
                update_table(spark, root, event)  # afterwards nobody can make its rows
    with hold_lease(spark, root, "compact"):
        if is_more:
            note(spark, root, lake, going)
        else:
            note_look(spark, root, lake.retired)
        delete_noted(spark, settings)


def finish(spark: SparkSession, settings: Settings) -> None:
    """Delete what an earlier run has noted but not deleted."""
    with hold_lease(spark, settings.delta_root, "compact"):
        delete_noted(spark, settings)


def delete_noted(spark: SparkSession, settings: Settings) -> None:
    """Delete the landed rows that are noted, and then the offsets by which they were known."""
    stops = read_retired(spark, settings.delta_root).stops
    delete_retired(spark, settings.delta_root, stops)
    drop_offsets(settings, stops)


def note(spark: SparkSession, delta_root: str, lake: Lake, going: Going) -> None:
    """Write down what goes, in one commit: from then on nobody looks at it."""
    run_id = datetime.now(UTC).strftime(RUN_ID)
    goes = within(going.stops)
    gone = lake.landed.where(goes)
    remaining = lake.landed.where(f"is_event and not {goes}")
    given = {
        "landed": gone,
        "remaining": remaining.select("kafka_topic", "event_id"),
        "forgotten": lake.frames["forgotten_tracking"].where(goes),
        "lost": split_position(lake.lost).where(goes),
        "entries": remake_entries(lake.frames, lake.tables.where(goes)),
    }
    sums = [tuple(row) for row in query(STATEMENTS["note"], given).collect()]
    sums.append(add_messages(lake, going))
    highest = going.messages.selectExpr("coalesce(max(written_by), -1) + 1").collect()[0][0]
    before = max(highest, lake.retired.before)
    rows: list[tuple[object, ...]] = [
        (run_id, topic, partition, stop, before, None, None, None, None)
        for (topic, partition), stop in going.stops.items()
    ]
    rows += [(run_id, None, None, None, before, *one[:3], int(one[3])) for one in sums]
    append_note(spark, delta_root, rows)


def note_look(spark: SparkSession, delta_root: str, retired: Retired) -> None:
    """Write down that all was looked through, and that nothing goes."""
    run_id = datetime.now(UTC).strftime(RUN_ID)
    row = (run_id, None, None, None, retired.before, None, None, None, None)
    append_note(spark, delta_root, [row])


def append_note(spark: SparkSession, delta_root: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Add rows to the notes, in one commit."""
    frame = make_frame(spark, rows, NOTE_SCHEMA)
    frame.write.format("delta").mode("append").save(note_path(delta_root))


def add_messages(lake: Lake, going: Going) -> tuple[str, str, int, int]:
    """Return what the messages add up to that are over only now."""
    known = find_over(lake, lake.retired.stops, lake.retired.before)
    sums = []
    for messages in (known, going.messages):
        found = query(STATEMENTS["retired_message_sum"], {"retired_message": messages})
        [row] = found.collect()
        sums.append((row["rows"], int(row["digest"])))
    (known_rows, known_digest), (rows, digest) = sums
    return ("message", "messages", rows - known_rows, digest - known_digest)


def delete_retired(spark: SparkSession, delta_root: str, stops: Stops) -> None:
    """Delete the rows that are noted; files without any are not touched."""
    for topic in {kafka_topic(name) for name, _ in stops}:
        conditions = [
            f"(topic = '{name}' and partition = {partition} and offset < {stop})"
            for (name, partition), stop in stops.items()
            if kafka_topic(name) == topic
        ]
        table = DeltaTable.forPath(spark, table_path(delta_root, topic))
        table.delete(" or ".join(conditions))
        log_progress(f"landed {topic}: what is noted is deleted")


def drop_offsets(settings: Settings, stops: Stops) -> None:
    """Drop the offsets of tracking rows and audit entries that nobody can make again."""
    by_place = {f"{topic}/{partition}": stop for (topic, partition), stop in stops.items()}
    given = {"subscriber": settings.subscriber, "stops": json.dumps(by_place)}
    for database, statement in (
        (DATABASE, "drop_forgotten_offsets"),
        (AUDIT_DATABASE, "drop_retired_offsets"),
    ):
        with connect(settings, database) as session:
            session.execute(QUERIES[statement], given)
