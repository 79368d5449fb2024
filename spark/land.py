"""The job that lands every topic: one query, one Delta table for each topic, one row for each record."""

import argparse
import fcntl
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark.landing import TOPICS, landed_positions, make_table, read_tables, records, starting_offsets
from spark.positions import partitions
from spark.session import give_up, make_session
from spark.settings import Settings
from spark.storage import exists


def start(
    spark: SparkSession, settings: Settings, topics: Sequence[str], once: bool, tell: Callable[[str], None]
) -> StreamingQuery:
    """Start the query where its checkpoint says or, when that is lost, behind what has landed."""
    kafka = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap_servers)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", first_offsets(spark, settings, topics))  # with a new checkpoint only
        .option("maxOffsetsPerTrigger", settings.land_max_offsets)
        .options(includeHeaders=True, failOnDataLoss=True)
        .load()
    )
    query_id: Future[str] = Future()
    write = write_topics(settings.landed, topics, query_id, tell)
    query = records(kafka).writeStream.foreachBatch(write).option("checkpointLocation", settings.checkpoint)
    if once:
        started = query.trigger(availableNow=True).start()
    else:
        started = query.trigger(processingTime=f"{settings.land_trigger_seconds} seconds").start()
    query_id.set_result(started.id)
    return started


def first_offsets(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> str:
    """Make what tables are missing; where those that were there end is asked only without a checkpoint."""
    known = partitions(AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers}), topics)
    with ThreadPoolExecutor() as threads:
        were_there = threads.map(lambda topic: make_table(spark, f"{settings.landed}/{topic}"), topics)
    old = [topic for topic, was_there in zip(topics, were_there, strict=True) if was_there]
    if not old or exists(spark, f"{settings.checkpoint}/offsets"):
        return starting_offsets(known, {})
    return starting_offsets(known, landed_positions(read_tables(spark, settings.landed, old)))


def write_topics(
    root: str, topics: Sequence[str], query_id: Future[str], tell: Callable[[str], None]
) -> Callable[[DataFrame, int], None]:
    """What is done with a batch: Kafka is read once, and a batch that is repeated changes no table twice."""

    def write(batch: DataFrame, batch_id: int) -> None:
        began = time.monotonic()
        batch.persist()
        counts = {row.topic: row["count"] for row in batch.groupBy("topic").count().collect()}
        for topic in counts:
            app_id = f"{query_id.result()}.{topic}"
            writer = batch.where(batch["topic"] == topic).write.format("delta").mode("append")
            writer.options(txnAppId=app_id, txnVersion=batch_id).save(f"{root}/{topic}")
        batch.unpersist()
        landed = ", ".join(f"{topic} {counts[topic]}" for topic in topics if topic in counts)
        tell(f"batch {batch_id}: {landed or 'nothing'} ({time.monotonic() - began:.1f} s)")

    return write


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


def tell(line: str) -> None:
    """One line, at once."""
    print(line, flush=True)  # noqa: T201 - a job that runs for weeks says what it did


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
            query = start(spark, settings, TOPICS, once, tell)
            while not stopping and not query.awaitTermination(1):
                pass
            query.stop()
            spark.stop()
        except (Py4JError, ConnectionError):  # the signal has reached the JVM too, and it was faster
            if not stopping:
                raise


if __name__ == "__main__":
    main()
