"""The job that lands every topic: one query, one Delta table for each topic, one row for each record."""

import argparse
import fcntl
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark.positions import Position, partitions, starting_offsets
from spark.session import give_up, locate, make_session, say
from spark.settings import Settings

SCHEMA = """topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary,
    headers array<struct<key: string, value: binary>>"""

Append = Callable[[DataFrame, str, str, int], None]  # rows, table, query id, batch id


def append_once(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
    """Append to a Delta table, unless this query has appended this batch before."""
    options = {"txnAppId": f"{query_id}.{path.rsplit('/', 1)[-1]}", "txnVersion": str(batch_id)}
    rows.write.format("delta").mode("append").options(**options).save(path)


def start(
    spark: SparkSession, settings: Settings, once: bool, append: Append = append_once
) -> StreamingQuery:
    """Start the query where its checkpoint says or, when that is lost, behind what has landed."""
    kafka: dict[str, Any] = {
        "kafka.bootstrap.servers": settings.kafka_bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "subscribe": ",".join(settings.topics),
        "startingOffsets": first_offsets(spark, settings),  # with a new checkpoint only
        "maxOffsetsPerTrigger": settings.land_max_offsets,
    }
    records = (
        spark.readStream.format("kafka")
        .options(**kafka, includeHeaders=True, failOnDataLoss=True)
        .load()
    )
    query_id: Future[str] = Future()

    def land(batch: DataFrame, batch_id: int) -> None:
        """Append each topic's rows to its table; Kafka is read once for all of them."""
        batch.persist()
        counts = sorted(batch.groupBy("topic").count().collect())
        for topic, _ in counts:
            append(
                batch.where(F.col("topic") == topic),
                table(settings, topic),
                query_id.result(),
                batch_id,
            )
        batch.unpersist()
        say(
            f"batch {batch_id}: {', '.join(f'{topic} {count}' for topic, count in counts) or 'nothing'}"
        )

    writer = records.drop("timestampType").writeStream.foreachBatch(land)
    every = f"{settings.land_trigger_seconds} seconds"
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=every)
    query = writer.start(checkpointLocation=f"{settings.delta_root}/checkpoint")
    query_id.set_result(query.id)
    return query


def first_offsets(spark: SparkSession, settings: Settings) -> str:
    """Make the tables that are missing; where tables end is asked only without a checkpoint."""
    known = partitions(
        AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers}), settings.topics
    )
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda topic: make_table(spark, table(settings, topic)), settings.topics))
    files, checkpoint = locate(spark, f"{settings.delta_root}/checkpoint/offsets")
    return starting_offsets(
        known, {} if files.exists(checkpoint) else landed_positions(read_landed(spark, settings))
    )


def make_table(spark: SparkSession, path: str) -> None:
    """Make an empty table where there is none, so that a topic without records can be read too."""
    spark.createDataFrame([], SCHEMA).write.format("delta").mode("ignore").save(path)


def table(settings: Settings, topic: str) -> str:
    """Where a topic lands."""
    return f"{settings.delta_root}/landed/{topic}"


def read_landed(spark: SparkSession, settings: Settings) -> DataFrame:
    """All landed tables as one."""
    tables = [spark.read.format("delta").load(table(settings, topic)) for topic in settings.topics]
    return reduce(DataFrame.unionByName, tables)


def landed_positions(landed: DataFrame) -> dict[Position, range]:
    """The offsets of each partition, from the first that landed to the last."""
    bounds = landed.groupBy("topic", "partition").agg(F.min("offset"), F.max("offset")).collect()
    return {(topic, partition): range(low, high + 1) for topic, partition, low, high in bounds}


@contextmanager
def alone(delta_root: str) -> Iterator[None]:
    """Let nobody else land here, or raise BlockingIOError; two would write each record twice."""
    if "://" in delta_root:  # no lock there: whoever schedules the job sees to it
        yield
        return
    Path(delta_root).mkdir(parents=True, exist_ok=True)
    with Path(delta_root, "land.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def main() -> None:
    """Land until stopped, or with --once until everything that is there now has landed."""
    parser = argparse.ArgumentParser(prog="python -m spark.land", description=main.__doc__)
    parser.add_argument("--once", action="store_true", help="land what is there now, then end")
    once, settings = parser.parse_args().once, Settings()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(0)
    )  # at any moment: what is half done will be done again
    try:
        with alone(settings.delta_root):
            start(make_session("land", settings.spark_jars_dir), settings, once).awaitTermination()
    except BlockingIOError:
        give_up(f"another land is at work in {settings.delta_root}: stop it first")
    except StreamingQueryException as error:
        give_up(f"landing has ended: {error}")


if __name__ == "__main__":
    main()
