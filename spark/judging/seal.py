"""Sealing: what a run has judged need not be judged again, but for what it leaves open."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.hops import NOTED
from spark.judging import outcome
from spark.judging.comparison import ROWS_OF_AN_ORDER, Judged
from spark.judging.horizon import Horizon, Version, ends_of, first_transaction, write_horizon
from spark.judging.open_ids import ID_COLUMNS, Open, sources_of, write_open
from spark.judging.settled import Settled
from spark.judging.shares import Share, merge, share_everything, share_new
from spark.judging.since import MOST_JUDGED_AGAIN, WRITTEN, list_forgotten
from spark.judging.standstill import Behind
from spark.lake.landed_tables import landed_positions
from spark.rows.snapshot import Snapshot
from spark.session import log_progress
from spark.settings import Settings

MOST_OPEN = 50_000  # ids, most of them late: their rows are kept, and judged again each time


class Run(NamedTuple):
    """What a run has found, and on what it rests."""

    run_id: str
    settled: Settled
    versions: Mapping[str, Version]  # of the landed tables, before they were read
    losses: int  # that somebody has accepted
    judged: Judged
    behind: Sequence[Behind]
    shares: Sequence[Share]  # of the old, as far as they are confirmed; none, if all was judged
    not_checked: int  # ids with which nothing was left to compare, in this run and all before it


def seal(spark: SparkSession, settings: Settings, run: Run, earlier: Horizon | None) -> None:
    """Write the horizon from which the next run starts.

    If a run that has judged everything cannot be sealed, the next one judges everything, too: an
    older horizon does not know what it has found. Where few orders are judged, the next run judges
    all of them anyway.
    """
    settled = run.settled
    orders = settled.databases.rows // ROWS_OF_AN_ORDER
    if earlier:
        orders += earlier.orders
    if orders < settings.reconcile_all_orders:
        return
    open_ = find_open(run.judged)
    reason = reason_not_to_seal(open_, run.behind)
    if reason and earlier:
        log_progress(f"the next run starts from the same horizon again: {reason}")
        return
    moments = {name: one.moment for name, one in settled.databases.snapshots.items()}
    read_from = first_transactions(settled.databases.snapshots)
    if open_ and not reason:
        write_open(settings.delta_root, run.run_id, open_)
        for name, transaction in late_since(settled.databases.frames, open_.ids).items():
            read_from[name] = min(read_from[name], transaction)
    horizon = Horizon(
        run_id=run.run_id,
        full_run_id=earlier.full_run_id if earlier else run.run_id,
        runs_since_full=earlier.runs_since_full + 1 if earlier else 0,
        orders=orders,
        judge_all=reason,
        moments=moments,
        read_from=read_from,
        versions=run.versions,
        topic_ids=settled.topic_ids,
        ends=ends_of(settled.extent.all().items()),
        forgotten=list_forgotten(settled.databases.frames),
        losses=run.losses,
        shares=[] if reason else share_out(settings, run, earlier),
        not_checked=run.not_checked,
        deleted_before=earlier.deleted_before if earlier else None,
    )
    write_horizon(spark, settings.delta_root, settings.subscriber, horizon)
    log_progress("sealed: the next run need not judge again what is matched")


def share_out(settings: Settings, run: Run, earlier: Horizon | None) -> list[Share]:
    """Return the shares of what is old from now on: all of it is confirmed within so many runs."""
    runs = settings.reconcile_all_every
    frames = run.settled.databases.frames
    stops = first_transactions(run.settled.databases.snapshots)
    if earlier is None:
        return share_everything(frames, stops, run.run_id, runs)
    before = {name: first_transaction(moment) for name, moment in earlier.moments.items()}
    due = earlier.runs_since_full + 1 + runs
    new = share_new(frames, before, stops, run.run_id, due)
    return merge([*run.shares, *new], runs)


def first_transactions(snapshots: Mapping[str, Snapshot]) -> dict[str, int]:
    """Return the first transaction of each database that was not over."""
    return {name: first_transaction(one.moment) for name, one in snapshots.items()}


def find_open(judged: Judged) -> Open | None:
    """Return the ids that are late or a defect, and the landed rows of their sources.

    The counts say if there are any: mostly there are none, and nobody need look for them.
    """
    if not outcome.count_open(judged.counts):
        return None
    is_open = "outcome not in ('matched', 'not checked')"
    ids = judged.outcomes.where(is_open).select(*ID_COLUMNS)
    ids.persist()
    place = ["topic", "partition", "offset"]
    both = "explode(array(source, 'message ' || message_id)) as source"
    with_sources = judged.landed.selectExpr(*place, both)
    of_open = with_sources.join(F.broadcast(sources_of(ids)), "source", "left_semi")
    places = of_open.select(*place).distinct()
    places.persist()
    near = judged.read_again(landed_positions(places))
    return Open(ids, near.join(F.broadcast(places), place, "left_semi"))


def reason_not_to_seal(open_: Open | None, behind: Sequence[Behind]) -> str:
    """Return why what was judged has to be judged again; nothing if it need not."""
    if behind:
        return "a part of the pipeline was behind"
    if open_ is None:
        return ""
    count = open_.ids.count()
    if count > MOST_OPEN:
        return f"{count:,} ids are open, more than {MOST_OPEN:,}"
    defects = open_.ids.where("outcome not in ('late', 'parked')").count()
    if defects > MOST_JUDGED_AGAIN:
        return f"{defects:,} ids do not match, more than {MOST_JUDGED_AGAIN:,}"
    if not open_.ids.where(open_.ids.hop.isin(*NOTED)).isEmpty():
        return "what was forgotten or retired does not match"
    return ""


def late_since(frames: Mapping[str, DataFrame], ids: DataFrame) -> dict[str, int]:
    """Return, for each database, the first transaction that wrote of what is late.

    The rows are united before the join: Spark takes no persisted ids for several parts of a union.
    """
    columns = ("source", "database", "written_by")
    written = reduce(DataFrame.union, [frames[name].select(*columns) for name in WRITTEN])
    late = F.broadcast(sources_of(ids.where("outcome = 'late'")))
    by_database = written.join(late, "source", "left_semi").groupBy("database")
    earliest = by_database.agg(F.min("written_by")).collect()
    return {database: first for database, first in earliest if first is not None}
