"""A whole reconciliation beside textbook joins of the same rows, and one of a few more orders."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from lab.bench.fill import fill, fill_databases, fill_lake
from lab.bench.numbers import Number, Target, compare
from lab.bench.textbook import DefectError, join_in_duckdb, join_in_spark
from lab.environment import empty_tables
from ops.stack.stack import Stack
from spark.judging.comparison import Judged
from spark.judging.comparison import compare as compare_hops
from spark.judging.horizon import Horizon, read_horizon, read_versions
from spark.judging.seal import Run, seal
from spark.judging.settled import Databases, Extent, Settled, persist_all, select_since
from spark.judging.shares import Share
from spark.judging.since import compare_since, confirm_due
from spark.judging.standstill import GroupLook, Patience
from spark.kafka.positions import Position
from spark.lake.landed_tables import landed_positions, read_landed
from spark.reconcile import open_session
from spark.reporting.report import verdict_of
from spark.rows.frames import read_ledger
from spark.rows.snapshot import open_snapshots, read_tables, select_all
from spark.run_id import RUN_ID
from spark.settings import Settings
from spark.topics import Topics, topics_to_land

TIMES_AS_MANY = 10  # as for memory: few orders show what a session costs, and nothing else
MORE = 0.01  # of the orders come after the horizon


class Lake(NamedTuple):
    """Databases and lake that are filled, and up to where."""

    spark: SparkSession
    settings: Settings
    topics: Topics
    extent: Mapping[Position, range]


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Compare reconciliations, their session's start left out, with joins of the same rows."""
    orders *= TIMES_AS_MANY
    more = max(1, round(orders * MORE))
    env = stack.env()
    env["DELTA_ROOT"] += "/bench"  # nothing that another measurement has landed
    empty_tables(env)
    os.environ.update(env)
    settings = Settings(reconcile_all_orders=0)  # few orders have a horizon here, too
    with stack.step(f"fill the databases with {orders:,} orders"):
        last_events = fill_databases(env, 1, orders)
    spark = open_session("bench", settings)  # it suits what they hold now
    try:
        with stack.step("fill the lake with what they have left there"):
            fill_lake(settings, spark, 1, orders, last_events)
        lake = look_at_lake(spark, settings)
        found = compare_with_textbooks(stack, lake, orders, rounds)
        with stack.step("seal them"):
            horizon = reconcile_and_seal(lake)
        with stack.step(f"fill databases and lake with {more:,} more"):
            fill(env, settings, spark, orders + 1, orders + more)
        lake = look_at_lake(spark, settings)
        return found + compare_since_and_all(stack, lake, horizon, orders + more, rounds)
    finally:
        spark.stop()


def compare_with_textbooks(stack: Stack, lake: Lake, orders: int, rounds: int) -> list[Number]:
    """Compare a whole reconciliation with joins of all rows."""
    topics = lake.topics.all()
    arms = {
        "ours": partial(reconcile, lake),
        "DuckDB": partial(join_in_duckdb, lake.settings, topics),
        "Spark": partial(join_in_spark, lake.spark, lake.settings, topics),
    }
    rates = {name: partial(rate, arm, orders) for name, arm in arms.items()}
    targets = {
        "ours / DuckDB": Target(goal=">= 1", must=">= 0.5"),
        "ours / Spark": Target(goal=">= 1"),
    }
    return compare("reconcile", rates, targets, rounds, stack.step)


def compare_since_and_all(
    stack: Stack, lake: Lake, horizon: Horizon, orders: int, rounds: int
) -> list[Number]:
    """Compare a run that starts from a horizon with a whole one; both look after all orders."""
    arms = {
        "since": partial(reconcile_since, lake, horizon),
        "all": partial(reconcile, lake),
    }
    rates = {name: partial(rate, arm, orders) for name, arm in arms.items()}
    targets = {"since / all": Target(goal=">= 15", must=">= 5")}
    return compare("reconcile", rates, targets, rounds, stack.step)


def rate(arm: Callable[[], object], orders: int) -> float:
    """Return how many orders a second an arm compares."""
    started = time.monotonic()
    arm()
    return orders / (time.monotonic() - started)


def look_at_lake(spark: SparkSession, settings: Settings) -> Lake:
    """Return what is filled; Kafka would tell the positions, and here the lake has all of them."""
    topics = topics_to_land(settings, [])
    landed = read_landed(spark, settings.delta_root, topics.all())
    return Lake(spark, settings, topics, landed_positions(landed))


def reconcile(lake: Lake) -> None:
    """Do what `pipeline reconcile --full` does once everything has landed."""
    with settle(lake) as settled:
        refuse_defects(compare_hops(lake.spark, lake.settings, [], settled, losses=[]))


def reconcile_and_seal(lake: Lake) -> Horizon:
    """Do the same, and return from where the next run can start."""
    with settle(lake) as settled:
        judged = compare_hops(lake.spark, lake.settings, [], settled, losses=[])
        refuse_defects(judged)
        seal_run(lake, settled, judged, shares=[], earlier=None)
    horizon = read_horizon(lake.spark, lake.settings.delta_root, lake.settings.subscriber)
    assert horizon is not None  # it has just been written
    return horizon


def reconcile_since(lake: Lake, horizon: Horizon) -> None:
    """Do what `pipeline reconcile` does then: judge what came since, add up shares, and seal."""
    versions = read_versions(lake.spark, lake.settings.delta_root, lake.topics.all())
    with settle(lake, horizon) as settled:
        shares = confirm_due(lake.spark, lake.settings, settled, horizon, new_run_id())
        judged = compare_since(lake.spark, lake.settings, settled, horizon, versions)
        refuse_defects(judged)
        seal_run(lake, settled, judged, shares=shares, earlier=horizon)


def seal_run(
    lake: Lake,
    settled: Settled,
    judged: Judged,
    *,
    shares: Sequence[Share],
    earlier: Horizon | None,
) -> None:
    """Write the horizon of a run."""
    run = Run(
        run_id=new_run_id(),
        settled=settled,
        versions=read_versions(lake.spark, lake.settings.delta_root, lake.topics.all()),
        losses=0,
        judged=judged,
        behind=[],
        shares=shares,
        not_checked=0,
    )
    seal(lake.spark, lake.settings, run, earlier)


def new_run_id() -> str:
    """Return the id of a run that begins now."""
    return datetime.now(UTC).strftime(RUN_ID)


@contextmanager
def settle(lake: Lake, horizon: Horizon | None = None) -> Iterator[Settled]:
    """Read the databases, as spark/judging/settled.py does with a Kafka beside it; keep nothing."""
    settings = lake.settings
    patience = Patience(deadline=time.monotonic(), standstill_seconds=0)
    topic = lake.topics.input
    ends = {
        partition: offsets.stop
        for (name, partition), offsets in lake.extent.items()
        if name == topic
    }
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        select = select_since(horizon, snapshots) if horizon else select_all
        frames = read_tables(lake.spark, settings.subscriber, snapshots, select)
        frames["ledger"] = read_ledger(lake.spark, None)
        frames, rows = persist_all(frames)
        yield Settled(
            topics=lake.topics,
            topic_ids={},
            seen={},
            group=GroupLook(AdminClient({}), settings.group_id, topic, ends, time.monotonic()),
            databases=Databases(frames, rows, not_passed={}, snapshots=snapshots),
            extent=Extent(current=lake.extent, earlier={}),
            behind=[],
            patience=patience,
        )
    lake.spark.catalog.clearCache()


def refuse_defects(judged: Judged) -> None:
    """Raise an error if anything was found: the rows have no defect."""
    verdict = verdict_of(judged.counts)
    if not verdict["ok"]:
        raise DefectError(str(verdict["verdict"]))
