"""The comparison of every hop: the lake beside the databases, judged by digests or id by id."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from contract import names
from spark.hops import (
    OUTBOX_TO,
    TRACKING_TO_AUDIT_MARK,
    Hop,
    input_to_tracking,
    make_hops,
    names_of,
    union_hops,
)
from spark.judging import outcome
from spark.judging.digest import (
    add_counts,
    count_buckets,
    digest,
    find_repeats,
    hash_row,
    rows_to_judge,
)
from spark.judging.settled import Extent, Settled
from spark.judging.standstill import Behind, GroupLook, Patience, hops_behind
from spark.kafka.positions import Position
from spark.lake.landed_tables import landed_positions, read_landed, read_within
from spark.lake.losses import Loss
from spark.parts import Part
from spark.rows.frames import (
    Frames,
    derive_frames,
    identify_landed,
    lost_offsets,
    open_sources,
    place_ledger,
    remember_forgotten,
    remember_handled,
)
from spark.rows.markers import expected_records
from spark.rows.retired import remember_retired
from spark.rows.retired_landed import read_retired, set_apart
from spark.session import gather, log_progress, make_once
from spark.settings import TRACKING, Settings
from spark.topics import Topics

Row = dict[str, Any]

ROWS_OF_AN_ORDER = 5  # in the databases: tracking, fulfillment, audit entry, and two events


class Judged(NamedTuple):
    """What became of the ids."""

    outcomes: DataFrame  # of each id that was judged alone
    counts: list[Row]  # of all ids
    landed: DataFrame  # the landed records
    read_again: Callable[[Mapping[Position, range]], DataFrame]  # the same as they landed


def compare(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    settled: Settled,
    losses: Sequence[Loss],
) -> Judged:
    """Return what became of every id."""
    topics = settled.topics
    databases = settled.databases
    retired = read_retired(spark, settings.delta_root)
    landed = read_landed(spark, settings.delta_root, topics.all())
    tables = gather(landed.where(retired.is_left()), databases.rows)
    extent = Extent(*map(retired.clip_extent, settled.extent))
    lake = read_lake(settings, tables, topics, extent, retired.clip(losses))
    frames = databases.frames | lake | {"noted": retired.sums}
    if settled.extent.earlier:
        frames["ledger"] = place_ledger(frames)
    if settings.dedup_store != TRACKING:
        frames["tracking"] = remember_handled(frames)
    frames |= remember_forgotten(frames)
    frames |= remember_retired(frames, tables)
    frames |= set_apart(frames, retired)
    open_source = open_sources(frames, topics, settled.group.committed)
    frames |= derive_frames(frames, parts)
    hops = path_of(topics, parts)
    if settings.dedup_store != TRACKING:  # no other store keeps the receiver's answer
        hops = [hop for hop in hops if hop.name != TRACKING_TO_AUDIT_MARK]
    stuck_hops = hops_of_slots(databases.not_passed, topics)
    orders = databases.rows // ROWS_OF_AN_ORDER
    others: list[Row] = []
    if orders >= settings.reconcile_digest_orders:
        open_source = keep(open_source)
        names_of_hops = names_of(hops, topics.events)
        buckets = count_buckets(orders)
        rows, others = find_differing_rows(frames, hops, names_of_hops, open_source, buckets)
    else:
        rows = make_once(union_hops(frames, hops), databases.rows)
        open_source = make_once(open_source, databases.rows)
    outcomes, counts = judge(rows, open_source, stuck_hops)
    counts = add_counts(counts, others)
    log_progress("every hop is compared")
    read_again = partial(read_within, spark, settings.delta_root, topics.all())
    return Judged(outcomes, counts, frames["landed"], read_again)


def path_of(topics: Topics, parts: Sequence[Part]) -> list[Hop]:
    """Return the hops of the core, and behind them those of the extras."""
    hops = make_hops(topics.input)
    for part in parts:
        hops += part.hops
    return hops


def read_lake(
    settings: Settings,
    tables: DataFrame,
    topics: Topics,
    extent: Extent,
    losses: Sequence[Loss],
) -> Frames:
    """Return what has landed, every offset that must have, and those of losses."""
    landed = identify_landed(tables, extent.all(), topics)
    landed.persist()
    found = landed_positions(landed)
    log_progress("everything has landed")
    firsts = {position: offsets.start for position, offsets in found.items()}
    for loss in losses:
        position = (loss.topic, loss.partition)
        firsts[position] = min(loss.first, firsts.get(position, loss.first))
    expected = {}
    for position, offsets in extent.all().items():
        # Kafka may have deleted what landed long ago.
        first = min(offsets.start, firsts.get(position, offsets.start))
        expected[position] = range(first, offsets.stop)
    return {
        "landed": landed,
        "expected_offset": expected_records(settings, landed, expected, extent.current),
        "lost_offset": lost_offsets(tables.sparkSession, losses),
    }


def find_differing_rows(
    frames: Frames,
    hops: Sequence[Hop],
    names_of_hops: Sequence[str],
    open_source: DataFrame,
    buckets: int,
) -> tuple[DataFrame, list[Row]]:
    """Return the rows of the ids in buckets that differ, and the counts of all others."""
    hashed = union_hops(frames, hops, partial(hash_row, names_of_hops))
    repeats = find_repeats(frames, hops)
    differing, others = digest(hashed, names_of_hops, repeats, open_source, buckets)
    rows_of = partial(rows_of_hops, frames, hops)
    rows = rows_to_judge(differing, rows_of, buckets)
    return rows, others


def rows_of_hops(frames: Frames, hops: Sequence[Hop], names: Set[str]) -> DataFrame:
    """Return the rows of the hops with these names."""
    chosen = [hop for hop in hops if hop.has_name_in(names)]
    return union_hops(frames, chosen) if chosen else union_hops(frames, hops).where("false")


def keep(frame: DataFrame) -> DataFrame:
    """Return a frame with its rows made, so that Spark knows how large it is.

    It sends a small one to each task, and the large one that it is joined with stays where it is.
    For one without rows it plans nothing.
    """
    rows = frame.persist().count()
    return frame if rows else frame.where("false")


def judge(
    rows: DataFrame, open_source: DataFrame, stuck_hops: Sequence[str]
) -> tuple[DataFrame, list[Row]]:
    """Return the outcome of each id, and the counts of all."""
    judged = outcome.judge(rows, open_source, stuck_hops)
    judged.persist()
    return judged, outcome.count_outcomes(judged)


def find_behind(judged: Judged, settled: Settled) -> list[Behind]:
    """Tell what has work and does not advance, of the service and of Connect."""
    behind = service_behind(judged, settled.group, settled.patience)
    behind += connect_behind(judged.counts, settled.topics, settled.databases.not_passed)
    return behind


def service_behind(judged: Judged, group: GroupLook, patience: Patience) -> list[Behind]:
    """Wait until each partition with late records has advanced; tell where ids wait if not."""
    input_hop = input_to_tracking(group.topic)
    partitions = []
    if any(row["late"] for row in judged.counts):
        partitions = outcome.late_partitions(judged.outcomes, input_hop)
    where = group.wait_for_advance(partitions, patience)
    if not where:
        return []
    of_service = [row for row in judged.counts if not row["hop"].startswith(OUTBOX_TO)]
    return hops_behind(of_service, input_hop, where)


def connect_behind(
    counts: Sequence[Row], topics: Topics, not_passed: Mapping[str, str]
) -> list[Behind]:
    """Tell in which hops to topics events wait, if the slot of their outbox does not advance."""
    behind = []
    for slot, where in not_passed.items():
        hops = hops_of_slots([slot], topics)
        of_slot = [row for row in counts if row["hop"] in hops]
        behind += hops_behind(of_slot, hops[0], where)
    return behind


def hops_of_slots(slots: Iterable[str], topics: Topics) -> list[str]:
    """Return the hops from the outboxes that are read through these slots to their topics."""
    hops = []
    for topic in topics.events:
        database = names.OTHER_OUTBOXES.get(topic, names.DATABASE)
        if f"{database}_outbox" in slots:
            hops.append(f"{OUTBOX_TO}{topic}")
    return hops
