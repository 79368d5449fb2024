"""Landing a range of every topic in Delta against a plain Spark job that writes it to Parquet."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from access.kafka_java import spark_source
from contract.names import AUDIT_TOPIC, INPUT_TOPIC
from lab.bench import chain
from lab.bench.numbers import Number, Target, compare
from lab.bench.running import EVENTS, WARM_UP
from lab.ladder.environment import empty_topics
from ops.stack.stack import Stack
from ops.stack.supervisor import until
from spark.kafka.positions import (
    EARLIEST,
    LATEST,
    Position,
    offsets_at,
    partitions_of,
    starting_offsets,
)
from spark.lake.landed_tables import make_tables, read_landed
from spark.landing.landing_query import hold_landing, start_landing
from spark.session import make_session
from spark.settings import Settings
from spark.topics import topics_to_land

TIMES_AS_MANY = 10  # as for memory: few orders show what a query costs, and nothing else
OF_EACH_ORDER = (INPUT_TOPIC, EVENTS, AUDIT_TOPIC)
PUBLISHED_SECONDS = 60

# Writes into a folder; returns the seconds that it took, and how many records are there then.
Write = Callable[[str], tuple[float, int]]


class Range(NamedTuple):
    """What of each topic is to be written."""

    starts: Mapping[Position, int]
    ends: Mapping[Position, int]

    def records(self) -> int:
        """Return how many records that is."""
        return sum(self.ends.values()) - sum(self.starts.values())


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of both, their session's start left out."""
    orders *= TIMES_AS_MANY
    env = stack.env()
    admin = AdminClient({"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"], "log_level": 0})
    with stack.step(f"landing: let {orders:,} orders pass"):
        fill_topics(stack, admin, orders)
    os.environ.update(env)
    settings = Settings()
    topics = topics_to_land(settings, []).all()
    offsets = find_range(admin, topics)
    spark = make_session("bench", settings.spark_jars_dir)
    ways: dict[str, Write] = {
        "ours": partial(land, spark, settings, topics),
        "Spark batch": partial(write_parquet, spark, settings, topics, offsets),
    }
    arms = {name: partial(rate, write, settings, orders, offsets) for name, write in ways.items()}
    targets = {"ours / Spark batch": Target(goal=">= 0.7")}
    try:
        return compare("landing", arms, targets, rounds, stack.step)
    finally:
        spark.stop()


def fill_topics(stack: Stack, admin: AdminClient, orders: int) -> None:
    """Leave these orders in the topics, with all that comes of them, and nothing else."""
    empty_topics(admin)
    chain.rate(stack, "service", orders)
    wanted = dict.fromkeys(OF_EACH_ORDER, orders + len(WARM_UP))
    found: dict[str, int] = {}

    def is_all_there() -> bool:
        found.update({topic: find_range(admin, [topic]).records() for topic in OF_EACH_ORDER})
        return found == wanted

    assert until(is_all_there, PUBLISHED_SECONDS), f"the topics have {found} instead of {wanted}"


def find_range(admin: AdminClient, topics: Sequence[str]) -> Range:
    """Return all that these topics have now."""
    partitions = partitions_of(admin, topics)
    return Range(
        starts=offsets_at(admin, partitions, EARLIEST),
        ends=offsets_at(admin, partitions, LATEST),
    )


def rate(write: Write, settings: Settings, orders: int, offsets: Range) -> float:
    """Return orders a second; every record, of orders and of events, must then be there."""
    Path(settings.delta_root).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.delta_root) as folder:
        seconds, found = write(folder)
    wanted = offsets.records()
    assert found == wanted, f"{found} of {wanted} records were written: the rate means nothing"
    return orders / seconds


def land(
    spark: SparkSession, settings: Settings, topics: Sequence[str], folder: str
) -> tuple[float, int]:
    """Do what `python -m spark.land --once` does in a lake whose tables are there."""
    own = settings.model_copy(update={"delta_root": folder})
    make_tables(spark, folder, topics)
    with hold_landing(spark, own, topics):
        started = time.monotonic()
        start_landing(spark, own, topics, once=True).awaitTermination()
        seconds = time.monotonic() - started
    return seconds, read_landed(spark, folder, topics).count()


def write_parquet(
    spark: SparkSession, settings: Settings, topics: Sequence[str], offsets: Range, folder: str
) -> tuple[float, int]:
    """Write the same range as one batch, with the same options for its reader."""
    files = f"{folder}/parquet"
    options = {
        **spark_source(settings.kafka_bootstrap_servers),
        "kafka.fetch.max.wait.ms": "20",
        "subscribe": ",".join(topics),
        "startingOffsets": starting_offsets(offsets.starts),
        "endingOffsets": starting_offsets(offsets.ends),
        "includeHeaders": "true",
    }
    started = time.monotonic()
    spark.read.format("kafka").options(**options).load().write.parquet(files)
    seconds = time.monotonic() - started
    return seconds, spark.read.parquet(files).count()
