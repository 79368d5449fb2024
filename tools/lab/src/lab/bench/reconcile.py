"""A whole reconciliation of many orders, beside textbook joins of the same rows."""

import os
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from lab.bench.fill import fill
from lab.bench.numbers import Number, compare
from lab.bench.textbook import DefectError, join_in_duckdb, join_in_spark
from ops.stack.stack import Stack
from spark.comparison import compare as compare_hops
from spark.frames import read_ledger
from spark.landed_tables import landed_positions, read_landed
from spark.report import verdict_of
from spark.session import make_session
from spark.settings import Settings
from spark.settled import Databases, Extent, Settled, persist_all
from spark.snapshot import open_snapshots, read_tables
from spark.standstill import GroupLook, Patience
from spark.topics import Topics, topics_to_land

TIMES_AS_MANY = 10  # as for memory: few orders show what a session costs, and nothing else


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Compare a full reconciliation, its session's start left out, with joins of the same rows."""
    orders *= TIMES_AS_MANY
    env = stack.env()
    os.environ.update(env)
    settings = Settings()
    spark = make_session("bench", settings.spark_jars_dir)
    with stack.step(f"fill databases and lake with {orders:,} orders"):
        fill(env, settings, spark, orders)
    topics = topics_to_land(settings, [])
    arms = {
        "ours": partial(reconcile, spark, settings, topics),
        "DuckDB": partial(join_in_duckdb, settings, topics.all()),
        "Spark": partial(join_in_spark, spark, settings, topics.all()),
    }
    rates = {name: partial(rate, arm, orders) for name, arm in arms.items()}
    goals = {"DuckDB": ">= 0.5", "Spark": ">= 1"}
    found = compare("reconcile", rates, goals, rounds, stack.step)
    spark.stop()
    return found


def rate(arm: Callable[[], None], orders: int) -> float:
    """Return how many orders a second an arm compares."""
    started = time.monotonic()
    arm()
    return orders / (time.monotonic() - started)


def reconcile(spark: SparkSession, settings: Settings, topics: Topics) -> None:
    """Do what `pipeline reconcile` does once everything has landed."""
    patience = Patience(deadline=time.monotonic(), standstill_seconds=0)
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        frames = read_tables(spark, settings.subscriber, snapshots, parts=[])
        frames["ledger"] = read_ledger(spark, None)
        rows = persist_all(frames.values())
    landed = landed_positions(read_landed(spark, settings.delta_root, topics.all()))
    ends = {
        partition: offsets.stop
        for (topic, partition), offsets in landed.items()
        if topic == topics.input
    }
    settled = Settled(
        topics=topics,
        topic_ids={},
        seen={},
        group=GroupLook(AdminClient({}), settings.group_id, topics.input, ends, time.monotonic()),
        databases=Databases(frames, rows, not_passed={}, snapshots=snapshots),
        extent=Extent(current=landed, earlier={}),
        behind=[],
        patience=patience,
    )
    judged = compare_hops(spark, settings, [], settled, losses=[])
    verdict = verdict_of(judged.counts)
    spark.catalog.clearCache()
    if not verdict["ok"]:
        raise DefectError(str(verdict["verdict"]))
