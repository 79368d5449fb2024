"""The job that lands every topic: one query, one Delta table for each topic, one row for each record."""

import argparse
import fcntl
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark.landing import landed_positions, make_table, read_tables, records, starting_offsets
from spark.positions import partitions
from spark.session import give_up, make_session
from spark.settings import Settings
from spark.storage import exists

Append = Callable[[DataFrame, str, str, int], None]  # rows, table, query id, batch id


def say(line: str) -> None:
    """One line, at once."""
    print(line, flush=True)  # noqa: T201 - a job that runs for weeks says what it did


def append_once(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
    """Append to a Delta table, unless this query has appended this batch before."""
    options = {"txnAppId": f"{query_id}.{path.rsplit('/', 1)[-1]}", "txnVersion": str(batch_id)}
    rows.write.format("delta").mode("append").options(**options).save(path)


def start(
    spark: SparkSession, settings: Settings, once: bool, say: Callable[[str], None] = say, append: Append = append_once
) -> StreamingQuery:
    """Start the query where its checkpoint says or, when that is lost, behind what has landed."""
    kafka = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap_servers)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", ",".join(settings.topics))
        .option("startingOffsets", first_offsets(spark, settings))  # with a new checkpoint only
        .option("maxOffsetsPerTrigger", settings.land_max_offsets)
        .options(includeHeaders=True, failOnDataLoss=True)
        .load()
    )
    query_id: Future[str] = Future()

    def land(batch: DataFrame, batch_id: int) -> None:
        began = time.monotonic()
        counts = land_batch(
            batch, lambda rows, topic: append(rows, f"{settings.landed}/{topic}", query_id.result(), batch_id)
        )
        landed = ", ".join(f"{topic} {counts[topic]}" for topic in settings.topics if topic in counts)
        say(f"batch {batch_id}: {landed or 'nothing'} ({time.monotonic() - began:.1f} s)")

    writer = records(kafka).writeStream.foreachBatch(land).option("checkpointLocation", settings.checkpoint)
    every = f"{settings.land_trigger_seconds} seconds"
    query = (writer.trigger(availableNow=True) if once else writer.trigger(processingTime=every)).start()
    query_id.set_result(query.id)
    return query


def land_batch(batch: DataFrame, append: Callable[[DataFrame, str], None]) -> dict[str, int]:
    """Append each topic's rows to its table; Kafka is read once for all of them."""
    batch.persist()
    counts = {row["topic"]: row["count"] for row in batch.groupBy("topic").count().collect()}
    for topic in counts:
        append(batch.where(F.col("topic") == topic), topic)
    batch.unpersist()
    return counts


def first_offsets(spark: SparkSession, settings: Settings) -> str:
    """Make what tables are missing; where those that were there end is asked only without a checkpoint."""
    topics = settings.topics
    known = partitions(AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers}), topics)
    with ThreadPoolExecutor() as threads:
        were_there = threads.map(lambda topic: make_table(spark, f"{settings.landed}/{topic}"), topics)
    old = [topic for topic, was_there in zip(topics, were_there, strict=True) if was_there]
    if not old or exists(spark, f"{settings.checkpoint}/offsets"):
        return starting_offsets(known, {})
    return starting_offsets(known, landed_positions(read_tables(spark, settings.landed, old)))


@contextmanager
def alone(delta_root: str) -> Iterator[bool]:
    """Whether nobody else lands here; two would write each record twice."""
    if "://" in delta_root:  # no lock there: whoever schedules the job sees to it
        yield True
        return
    Path(delta_root).mkdir(parents=True, exist_ok=True)
    with Path(delta_root, "land.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def main() -> None:
    """Land until stopped, or with --once until everything that is there now has landed."""
    parser = argparse.ArgumentParser(prog="python -m spark.land", description=main.__doc__)
    parser.add_argument("--once", action="store_true", help="land what is there now, then end")
    once = parser.parse_args().once
    settings = Settings()
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    with alone(settings.delta_root) as is_alone:
        if not is_alone:
            give_up(f"another land is at work in {settings.delta_root}: stop it first")
        spark = make_session("land", settings.spark_jars_dir)
        try:
            query = start(spark, settings, once)
            while not stopping and not query.awaitTermination(1):
                pass
            query.stop()
            spark.stop()
        except StreamingQueryException as error:
            give_up(f"landing has ended: {error}")
        except (Py4JError, ConnectionError):  # the signal has reached the JVM too, and it was faster
            if not stopping:
                raise


if __name__ == "__main__":
    main()
