"""The streaming query that lands every topic, and the lock that keeps a second one away."""

import fcntl
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark.landed_tables import landed_positions, make_tables, read_landed, table_path
from spark.positions import Position, partitions_of, starting_offsets
from spark.session import locate, log_progress
from spark.settings import Settings

Append = Callable[[DataFrame, str, str, int], None]  # rows, table's path, query id, batch id


def append_once(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
    """Append to a Delta table, unless this query has appended this batch before."""
    topic = path.rpartition("/")[-1]
    transaction = {
        "txnAppId": f"{query_id}.{topic}",
        "txnVersion": str(batch_id),
    }
    writer = rows.write.format("delta").mode("append").options(**transaction)
    writer.save(path)


def start_landing(
    spark: SparkSession,
    settings: Settings,
    topics: Sequence[str],
    *,
    once: bool,
    append: Append = append_once,
) -> StreamingQuery:
    """Start the query where its checkpoint ends, or after the tables' last rows if that is lost."""
    query_id: Future[str] = Future()

    def land(batch: DataFrame, batch_id: int) -> None:
        """Append each topic's rows to its table; Kafka is read once for all of them."""
        batch.persist()
        landed = []
        counts = batch.groupBy("topic").count().collect()
        for topic, count in sorted(counts):
            is_of_topic = F.col("topic") == topic
            rows = batch.where(is_of_topic)
            path = table_path(settings.delta_root, topic)
            append(rows, path, query_id.result(), batch_id)
            landed.append(f"{topic} {count:,}")
        batch.unpersist()
        summary = ", ".join(landed) or "nothing"
        log_progress(f"batch {batch_id}: {summary}")

    records = read_topics(spark, settings, topics)
    records = records.drop("timestampType")
    writer = records.writeStream.foreachBatch(land)
    if once:
        writer = writer.trigger(availableNow=True)
    else:
        interval = f"{settings.land_trigger_seconds} seconds"
        writer = writer.trigger(processingTime=interval)
    checkpoint = checkpoint_path(settings.delta_root)
    query = writer.start(checkpointLocation=checkpoint)
    query_id.set_result(query.id)
    return query


def checkpoint_path(delta_root: str) -> str:
    """Return where the query notes how far it has come."""
    return f"{delta_root}/checkpoint"


def read_topics(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> DataFrame:
    """Return the stream of all records; it fails if some were deleted before they landed."""
    options: dict[str, Any] = {
        "kafka.bootstrap.servers": settings.kafka_bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "subscribe": ",".join(topics),
        "startingOffsets": first_offsets(spark, settings, topics),  # used without a checkpoint only
        "maxOffsetsPerTrigger": settings.land_max_offsets,
        "includeHeaders": True,
        "failOnDataLoss": True,
    }
    reader = spark.readStream.format("kafka").options(**options)
    return reader.load()


def first_offsets(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> str:
    """Make the missing tables, and return where each partition begins if there is no checkpoint."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    partitions = partitions_of(admin, topics)
    make_tables(spark, settings.delta_root, topics)
    checkpoint = checkpoint_path(settings.delta_root)
    if keep_checkpoint(spark, checkpoint, topics):
        return starting_offsets(partitions, landed={})
    tables = read_landed(spark, settings.delta_root, topics)
    landed = landed_positions(tables)
    return starting_offsets(partitions, landed)


def keep_checkpoint(spark: SparkSession, checkpoint: str, topics: Sequence[str]) -> bool:
    """Return whether there is a checkpoint of these topics; delete one of other topics.

    Spark would take the records of a topic that is not read any more for lost, and read a topic
    that is new to the checkpoint from its beginning, although it may have landed before.
    """
    known_topics = checkpoint_topics(spark, checkpoint)
    if known_topics == set(topics):
        return True
    if known_topics:
        log_progress("other topics than before: landing goes on after the tables' last rows")
        files, path = locate(spark, checkpoint)
        files.delete(path, True)
    return False


def checkpoint_topics(spark: SparkSession, checkpoint: str) -> set[str]:
    """Return the topics that the newest batch of a checkpoint names."""
    files, folder = locate(spark, f"{checkpoint}/offsets")
    newest = newest_batch(files, folder)
    if newest is None:
        return set()
    return set(read_ends(spark, files, newest))


def read_ends(spark: SparkSession, files: Any, batch: Any) -> dict[str, dict[str, int]]:
    """Return where a batch of a checkpoint ends, by topic and partition."""
    jvm: Any = spark.sparkContext._jvm
    io_utils = jvm.org.apache.commons.io.IOUtils
    with closing(files.open(batch)) as stream:
        text = io_utils.toString(stream, "UTF-8")
    last_line = text.splitlines()[-1]
    ends: dict[str, dict[str, int]] = json.loads(last_line)
    return ends


def landed_so_far(
    spark: SparkSession, delta_root: str, topics: Sequence[str]
) -> dict[Position, range]:
    """Return the offsets of each partition that landing has come past.

    Where the newest batch ends there may be markers of transactions, which have no row.
    """
    tables = read_landed(spark, delta_root, topics)
    landed = landed_positions(tables)
    checkpoint = checkpoint_path(delta_root)
    files, commits = locate(spark, f"{checkpoint}/commits")
    newest = newest_batch(files, commits)
    if newest is None:
        return landed
    _, offsets = locate(spark, f"{checkpoint}/offsets/{newest.getName()}")
    for topic, ends in read_ends(spark, files, offsets).items():
        for partition, end in ends.items():
            position = (topic, int(partition))
            rows = landed.get(position, range(end, end))
            landed[position] = range(rows.start, max(end, rows.stop))
    return landed


def newest_batch(files: Any, folder: Any) -> Any | None:
    """Return the path of the newest batch in this folder of a checkpoint; None if there is none."""
    if not files.exists(folder):
        return None
    batches = {}
    for status in files.listStatus(folder):
        path = status.getPath()
        name = path.getName()
        if name.isdigit():
            batches[int(name)] = path
    if not batches:
        return None
    newest = max(batches)
    return batches[newest]


@contextmanager
def exclusive_lock(delta_root: str) -> Iterator[None]:
    """Hold the lock of this lake, or raise BlockingIOError.

    Two landings at once would write each record twice.
    """
    if "://" in delta_root:  # buckets have no locks: what schedules the job must run it only once
        yield
        return
    folder = Path(delta_root)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "land.lock"
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
