"""The comparison of what was written since the horizon, with what was open at it.

What was judged before is not read: it went in once and came out once. So a new row of an old id
looks wrong by itself; whatever looks wrong is judged again, beside all that there is of its id.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from psycopg.sql import Literal
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from contract.events import ACCEPTED
from spark.hops import OUTBOX_TO, TOPICS_TO_LANDED, make_hops, union_hops
from spark.judging import outcome
from spark.judging.changed import find_changed
from spark.judging.comparison import Judged, hops_of_slots
from spark.judging.horizon import (
    Horizon,
    JudgeAllError,
    Version,
    is_new,
    list_shares,
    refuse_other_tables,
)
from spark.judging.open_ids import Open, read_open
from spark.judging.settled import Settled
from spark.judging.shares import Share, confirm, find_due, list_deleted, list_retired
from spark.kafka.positions import Position
from spark.lake.landed_tables import is_within, landed_positions, read_within
from spark.rows.frames import (
    Frames,
    derive_frames,
    identify_landed,
    lost_offsets,
    open_sources,
    query,
    remember_forgotten,
)
from spark.rows.markers import expected_records
from spark.rows.retired import remember_retired
from spark.rows.retired_landed import SUMS_SCHEMA, Retired, read_retired, set_apart
from spark.rows.snapshot import Select, Selection, read_tables
from spark.session import gather, log_progress, make_frame
from spark.settings import Settings
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
WRITTEN = ("tracking", "fulfillment", "rejection", "dead_letter", "outbox", "audit_entry")
MOST_JUDGED_AGAIN = 20_000  # ids: for more, everything is judged
JUDGED_WHOLE = (  # not again by this run
    "forgotten",
    "forgotten_range",
    "retired",
    "retired_entry",
    "retired_entry_range",
    "retired_letter",
    "retired_letter_range",
)
RETIRED = ("retired", "retired_entry", "retired_letter")
PAIR_SCHEMA = "hop string, id string"


class Since(NamedTuple):
    """What a run has that starts from a horizon."""

    spark: SparkSession
    settings: Settings
    settled: Settled
    horizon: Horizon
    before: Open  # what was open at the horizon
    versions: Mapping[str, Version]  # of the landed tables, now


class Landed(NamedTuple):
    """What has landed since the horizon, and the earlier rows that are judged again."""

    tables: DataFrame  # as it landed
    rows: DataFrame  # with the ids by which hops know it
    expected: DataFrame  # every position at which something must be


class Keys(NamedTuple):
    """By what the earlier rows of ids are found in the databases."""

    messages: Sequence[str]
    records: Sequence[str]
    events: Sequence[str]


def compare_since(
    spark: SparkSession,
    settings: Settings,
    settled: Settled,
    horizon: Horizon,
    versions: Mapping[str, Version],
) -> Judged:
    """Return what became of the ids that are new, and of those that were open."""
    refuse_other_tables(horizon, versions)
    before = read_open(spark, settings.delta_root, horizon.run_id)
    since = Since(spark, settings, settled, horizon, before, versions)
    landed = read_landed_since(since)
    log_progress("everything has landed")
    frames = read_frames(since, landed)
    judged = judge(since, frames)
    suspects = find_suspects(since, judged)
    if suspects:
        log_progress(f"{len(suspects):,} ids are judged again, beside all that there is of them")
        judged = judge_again(since, frames, judged, suspects)
        refuse_retired(since, judged)
    log_progress("every hop is compared")
    counts = outcome.count_outcomes(judged)

    def read_again(places: Mapping[Position, range]) -> DataFrame:
        return landed.tables.where(is_within(places))

    return Judged(judged, counts, landed.rows, read_again)


def confirm_due(
    spark: SparkSession, settings: Settings, settled: Settled, horizon: Horizon, run_id: str
) -> list[Share]:
    """Return the shares of the old, those that are due confirmed by this run.

    If one does not add up to what it did, everything is judged: that names the ids.
    """
    run = horizon.runs_since_full + 1
    shares = list_shares(horizon)
    due = find_due(shares, run)
    if due:
        databases = settled.databases
        retired = list_retired(databases.frames) | list_deleted(horizon.deleted_before)
        changed = confirm(spark, settings.subscriber, databases.snapshots, due, retired)
        if changed:
            raise JudgeAllError(f"{changed} since they were judged, without a new transaction")
        rows = sum(share.rows() for share in due)
        log_progress(f"{rows:,} rows of old ids are as they were judged")
    next_due = run + settings.reconcile_all_every
    confirmed = [share._replace(confirmed=run_id, due=next_due) for share in due]
    return [*(share for share in shares if share not in due), *confirmed]


def read_landed_since(since: Since) -> Landed:
    """Return what has landed since, and what is judged again of what had landed before."""
    settings, settled = since.settings, since.settled
    extent = settled.extent.all()
    new = {at: offsets_since(since.horizon, at, offsets) for at, offsets in extent.items()}
    again = find_again(since)
    read = partial(read_within, since.spark, settings.delta_root, settled.topics.all())
    frames = {
        "again": again,
        "kept": since.before.landed,
        "since": read(new),
        "earlier": read(landed_positions(again)),
    }
    found = gather(query(STATEMENTS["with_earlier"], frames), settled.databases.rows)
    landed = found.localCheckpoint(eager=False)
    rows = identify_landed(landed, extent, settled.topics).localCheckpoint(eager=False)
    new_rows = rows.where(is_within(new))
    given = {
        "expected": expected_records(settings, new_rows, new, settled.extent.current),
        "earlier_rows": rows.where(f"not ({is_within(new)})"),
        "again": again,
    }
    all_expected = query(STATEMENTS["all_expected"], given).localCheckpoint(eager=False)
    return Landed(landed, rows, all_expected)


def offsets_since(horizon: Horizon, at: Position, offsets: range) -> range:
    """Return the offsets of a partition that were not judged yet."""
    topic, partition = at
    first = horizon.ends.get(f"{topic}/{partition}", offsets.start)
    return range(first, max(first, offsets.stop))


def find_again(since: Since) -> DataFrame:
    """Return the positions before the horizon that are judged again."""
    delta_root = since.settings.delta_root
    changed = find_changed(since.spark, delta_root, since.horizon, since.versions)
    is_left = read_retired(since.spark, delta_root).is_left()
    frames = {"changed": changed.where(is_left), "open_ids": since.before.ids}
    again = query(STATEMENTS["again"], frames, landed_hop=TOPICS_TO_LANDED).localCheckpoint()
    if again.count() > MOST_JUDGED_AGAIN:
        raise JudgeAllError(f"more than {MOST_JUDGED_AGAIN:,} rows of the lake have changed")
    return again


def read_frames(since: Since, landed: Landed) -> Frames:
    """Return what is new or was open, and what it refers to."""
    frames = since.settled.databases.frames
    if list_forgotten(frames) != since.horizon.forgotten:
        raise JudgeAllError("tracking rows were forgotten since the last run")
    nothing = Retired({}, 0, make_frame(since.spark, [], SUMS_SCHEMA))
    was_judged = {name: frames[name].where("false") for name in JUDGED_WHOLE}
    frames = {
        **frames,
        **was_judged,
        **keep_each(keep_open(frames, since.before.sources())),
        "landed": landed.rows,
        "expected_offset": landed.expected,
        "lost_offset": lost_offsets(since.spark, []),  # after a new one, everything is judged
        "noted": nothing.sums,
    }
    frames |= set_apart(frames, nothing)
    frames |= keep_each(remember_forgotten(frames))
    frames |= remember_retired(frames, landed.tables)
    return frames | keep_each(look_up_known(since, frames))


def keep_each(frames: Frames) -> Frames:
    """Return frames that Spark makes once, and need not plan anew wherever they are used."""
    return {name: frame.localCheckpoint(eager=False) for name, frame in frames.items()}


def list_forgotten(frames: Frames) -> dict[str, str]:
    """Return what was forgotten of each partition."""
    return {row.place: row.contents for row in frames["forgotten"].collect()}


def keep_open(frames: Frames, sources: DataFrame) -> Frames:
    """Return the rows that are new, and those of records and messages that were open."""
    open_before = sources.selectExpr("source", "true as was_open")
    kept = {}
    for name in WRITTEN:
        with_sources = frames[name].join(F.broadcast(open_before), "source", "left")
        kept[name] = with_sources.where("is_new or was_open").drop("was_open")
    return kept


def look_up_known(since: Since, frames: Frames) -> Frames:
    """Return what new rows refer to: first records of redeliveries, winners of rejected orders."""
    tracked = frames["tracking"].select("message_id").distinct()
    records = frames["landed"].where("is_input and message_id is not null")
    messages = records.select("message_id").distinct()
    tracked_earlier = messages.join(tracked, "message_id", "left_anti")
    rejections = frames["outbox"].where(F.col("outcome") != ACCEPTED)
    conditions = {
        "tracking": is_one_of("message_id", list_ids(tracked_earlier, "message_id")),
        "fulfillment": is_one_of("order_id", list_ids(rejections, "order_id")),
    }
    known = {}
    for name, rows in look_up(since, conditions).items():
        known[f"known_{name}"] = frames[name].unionByName(rows, allowMissingColumns=True)
    return known


def look_up(since: Since, conditions: Mapping[str, str]) -> Frames:
    """Return rows from before the horizon, as they are at the moments of this run."""
    select = select_earlier(since.horizon, conditions)
    snapshots = since.settled.databases.snapshots
    subscriber = since.settings.subscriber
    return read_tables(since.spark, subscriber, snapshots, select, only=conditions)


def select_earlier(horizon: Horizon, conditions: Mapping[str, str]) -> Select:
    """Select the rows from before the horizon for which a condition holds."""

    def select(database: str, frame: str) -> Selection:
        wanted = conditions.get(frame, "false")
        is_earlier = f"not {is_new(horizon.moments[database])}"
        return Selection(rows=f"({wanted}) and {is_earlier}", is_new="false")

    return select


def is_one_of(column: str, ids: Sequence[str], type_: str = "text") -> str:
    """Return PostgreSQL for whether a column has one of these values."""
    if not ids:
        return "false"
    values = Literal(list(ids)).as_string()
    return f"{column} = any({values}::{type_}[])"


def list_ids(rows: DataFrame, column: str) -> list[str]:
    """Return the values of a column, each once; too many of them take a look at everything."""
    values = rows.select(column).dropna().distinct()
    found = values.limit(MOST_JUDGED_AGAIN + 1).collect()
    ids = [row[0] for row in found]
    if len(ids) > MOST_JUDGED_AGAIN:
        raise JudgeAllError(f"more than {MOST_JUDGED_AGAIN:,} ids are to be judged again")
    return ids


def judge(since: Since, frames: Frames, only: DataFrame | None = None) -> DataFrame:
    """Return the outcome of each id of these frames, or of some ids only."""
    settled = since.settled
    open_source = open_sources(frames, settled.topics, settled.group.committed)
    rows = union_hops(frames | derive_frames(frames, []), make_hops(settled.topics.input))
    if only is not None:
        rows = rows.join(F.broadcast(only), ["hop", "id"], "left_semi")
    rows = gather(rows, settled.databases.rows)
    stuck_hops = hops_of_slots(settled.databases.not_passed, settled.topics)
    return outcome.judge(rows, open_source, stuck_hops).localCheckpoint(eager=False)


def find_suspects(since: Since, judged: DataFrame) -> list[Row]:
    """Return the ids that are judged again, with their sources."""
    frames = {"judged": judged, "open_ids": since.before.ids}
    suspects = query(STATEMENTS["suspects"], frames).limit(MOST_JUDGED_AGAIN + 1).collect()
    if len(suspects) > MOST_JUDGED_AGAIN:
        raise JudgeAllError(f"more than {MOST_JUDGED_AGAIN:,} ids do not match by themselves")
    return suspects


def judge_again(
    since: Since, frames: Frames, judged: DataFrame, suspects: Sequence[Row]
) -> DataFrame:
    """Return the outcomes, those of the suspects beside all that there is of them."""
    whole = read_whole(since, frames, suspects)
    pairs = [(row.hop, row.id) for row in suspects]
    only = make_frame(since.spark, pairs, PAIR_SCHEMA)
    only = only.distinct()
    again = judge(since, frames | keep_each(whole), only)
    others = judged.join(F.broadcast(only), ["hop", "id"], "left_anti")
    return others.unionByName(again).localCheckpoint(eager=False)


def read_whole(since: Since, frames: Frames, suspects: Sequence[Row]) -> Frames:
    """Return the frames with all earlier rows of these ids, and what landed of their events."""
    keys = keys_of(suspects, frames["landed"])
    earlier = look_up_all(since, frames, keys)
    whole = {}
    for name, rows in earlier.items():
        whole[name] = frames[name].where("is_new").unionByName(rows, allowMissingColumns=True)
    outbox = {"outbox": earlier["outbox"], "open_ids": since.before.ids}
    landed = query(STATEMENTS["still_landed"], outbox, publish_hops=f"{OUTBOX_TO}%")
    whole["landed"] = frames["landed"].unionByName(landed)
    for name in ("known_tracking", "known_fulfillment"):
        whole[name] = whole[name.removeprefix("known_")]
    return whole


def refuse_retired(since: Since, judged: DataFrame) -> None:
    """Judge everything if what belongs to an id may be missing because it was deleted."""
    read = since.settled.databases.frames
    if all(read[name].isEmpty() for name in RETIRED):
        return
    frames = {"judged": judged, "open_ids": since.before.ids}
    if not query(STATEMENTS["newly_alone"], frames).isEmpty():
        raise JudgeAllError("what belongs to an id may have been deleted by retention")


def keys_of(suspects: Iterable[Row], landed: DataFrame) -> Keys:
    """Return by what all rows of these ids are found."""
    messages: set[str] = set()
    records: set[str] = set()
    events: set[str] = set()
    for suspect in suspects:
        for source in suspect.sources or []:
            kind, _, name = source.partition(" ")
            names = records if kind == "record" else messages
            names.add(name)
        if suspect.hop.startswith(OUTBOX_TO) and is_uuid(suspect.id):
            events.add(suspect.id)
    of_records = landed.where(landed.position.isin(list(records)))
    messages.update(list_ids(of_records, "message_id"))
    return Keys(sorted(messages), sorted(records), sorted(events))


def is_uuid(text: str) -> bool:
    """Return whether a text is an id that an outbox may have given."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def look_up_all(since: Since, frames: Frames, keys: Keys) -> Frames:
    """Return all earlier rows of these messages, records and events, and the orders' winners."""
    is_message = is_one_of("message_id", keys.messages)
    earlier = look_up(
        since,
        {
            "tracking": f"{is_message} or {is_at('tracking', keys.records)}",
            "rejection": is_message,
            "dead_letter": is_at("dead_letter", keys.records),
            "audit_entry": is_message,
            "outbox": " or ".join(
                [
                    is_one_of("event_id", keys.events, "uuid"),
                    is_one_of("payload->>'message_id'", keys.messages),
                    is_one_of("aggregate_id", keys.records),
                ]
            ),
        },
    )
    events = frames["outbox"].unionByName(earlier["outbox"])
    rejected = events.where(F.col("outcome") != ACCEPTED).select("order_id")
    orders = list_ids(rejected.union(earlier["rejection"].select("order_id")), "order_id")
    is_of_order = is_one_of("order_id", orders)
    return earlier | look_up(since, {"fulfillment": f"{is_message} or {is_of_order}"})


def is_at(table: str, records: Sequence[str]) -> str:
    """Return PostgreSQL for whether a row was made from one of these records."""
    place = f"""concat_ws('/', {table}.topic, {table}.partition, {table}."offset")"""
    return is_one_of(place, records)
