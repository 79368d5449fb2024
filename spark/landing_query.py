"""The streaming query that lands every topic, and the lock that keeps a second one away."""

import fcntl
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark.batch_size import offsets_in_a_batch
from spark.checkpoint import (
    checkpoint_path,
    checkpoint_topics,
    committed_ends,
    delete_checkpoint,
    keep_checkpoint,
    refuse_damaged_checkpoint,
)
from spark.delta_log import refuse_damaged_logs
from spark.landed_tables import landed_positions, make_tables, read_landed, table_path
from spark.losses import (
    Loss,
    find_losses,
    read_accepted,
    record_accepted,
    refuse_losses,
    refuse_others,
)
from spark.positions import EARLIEST, LATEST, Position, offsets_at, partitions_of, starting_offsets
from spark.session import log_progress
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


def read_topics(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> DataFrame:
    """Return the stream of all records; it fails if some were deleted before they landed."""
    start = find_start(spark, settings, topics)
    waiting = waiting_from(settings, start)
    options: dict[str, Any] = {
        "kafka.bootstrap.servers": settings.kafka_bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "subscribe": ",".join(topics),
        "startingOffsets": starting_offsets(start),  # used without a checkpoint only
        "maxOffsetsPerTrigger": offsets_in_a_batch(settings, waiting),
        "includeHeaders": True,
        "failOnDataLoss": True,
    }
    reader = spark.readStream.format("kafka").options(**options)
    return reader.load()


def find_start(
    spark: SparkSession, settings: Settings, topics: Sequence[str]
) -> dict[Position, int]:
    """Make the missing tables, and return the offset at which each partition goes on.

    End the job if Kafka has deleted what has not landed.
    """
    begins = first_held(settings, topics)
    checkpoint = checkpoint_path(settings.delta_root)
    refuse_damaged_checkpoint(spark, checkpoint)
    refuse_damaged_logs(spark, settings.delta_root, checkpoint, topics)
    make_tables(spark, settings.delta_root, topics)
    if keep_checkpoint(spark, checkpoint, topics):
        ends = committed_ends(spark, checkpoint)
        reached = {position: ends.get(position, 0) for position in begins}
        if not find_losses(reached, begins):
            return reached
    landed = landed_so_far(spark, settings.delta_root, topics)
    losses = find_lost(spark, settings, landed, begins)
    refuse_losses(losses)
    delete_checkpoint(spark, checkpoint)  # it begins before a loss, or before rows that are gone
    start = dict(begins)
    for position in begins.keys() & landed.keys():
        start[position] = landed[position].stop
    return start


def first_held(settings: Settings, topics: Sequence[str]) -> dict[Position, int]:
    """Return the first offset that Kafka has of each partition."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    partitions = partitions_of(admin, topics)
    return offsets_at(admin, partitions, EARLIEST)


def waiting_from(settings: Settings, start: Mapping[Position, int]) -> dict[Position, range]:
    """Return the offsets of each partition that have not landed."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    ends = offsets_at(admin, start, LATEST)
    return {position: range(first, ends[position]) for position, first in start.items()}


def find_lost(
    spark: SparkSession,
    settings: Settings,
    landed: Mapping[Position, range],
    begins: Mapping[Position, int],
) -> list[Loss]:
    """Return what Kafka has deleted and what has not landed.

    A lake that is new misses nothing; one that has begun has seen every partition from its start.
    """
    checkpoint = checkpoint_path(settings.delta_root)
    has_begun = bool(checkpoint_topics(spark, checkpoint))
    reached = dict.fromkeys(begins, 0) if has_begun else {}
    for position, offsets in landed.items():
        reached[position] = offsets.stop
    return find_losses(reached, begins)


def accept_losses(
    spark: SparkSession, settings: Settings, topics: Sequence[str], accepted: Sequence[Loss]
) -> None:
    """Remember that these losses are accepted, if they are exactly what is lost."""
    begins = first_held(settings, topics)
    make_tables(spark, settings.delta_root, topics)
    landed = landed_so_far(spark, settings.delta_root, topics)
    losses = find_lost(spark, settings, landed, begins)
    rows = read_landed(spark, settings.delta_root, topics)
    for loss in accepted:
        position = (loss.topic, loss.partition)
        is_past = position in landed and loss.last < landed[position].stop
        is_deleted = loss.last < begins.get(position, 0)
        if is_past and is_deleted and has_no_row(rows, loss):
            losses.append(loss)
    refuse_others(accepted, losses)
    record_accepted(spark, settings.delta_root, accepted)


def has_no_row(rows: DataFrame, loss: Loss) -> bool:
    """Return whether none of these offsets has landed."""
    offset = F.col("offset")
    is_in_partition = (F.col("topic") == loss.topic) & (F.col("partition") == loss.partition)
    found = rows.where(is_in_partition & offset.between(loss.first, loss.last))
    return found.isEmpty()


def landed_so_far(
    spark: SparkSession, delta_root: str, topics: Sequence[str]
) -> dict[Position, range]:
    """Return the offsets of each partition that landing has come past.

    Some have no row: markers of transactions where a batch ends, and losses that were accepted.
    """
    tables = read_landed(spark, delta_root, topics)
    landed = landed_positions(tables)
    checkpoint = checkpoint_path(delta_root)
    ends = list(committed_ends(spark, checkpoint).items())
    for accepted in read_accepted(spark, delta_root):
        loss = accepted.loss
        ends.append(((loss.topic, loss.partition), loss.last + 1))
    for position, end in ends:
        rows = landed.get(position, range(end, end))
        landed[position] = range(rows.start, max(end, rows.stop))
    return landed


def local_folder(delta_root: str) -> Path | None:
    """Return the folder of a lake, if it is one of this machine's."""
    scheme, separator, place = delta_root.partition(":")
    if scheme == "file" and separator:
        path = place.removeprefix("//")
        return Path(path)
    is_elsewhere = "://" in delta_root
    return None if is_elsewhere else Path(delta_root)


@contextmanager
def exclusive_lock(delta_root: str) -> Iterator[None]:
    """Hold the lock of this lake, or raise BlockingIOError.

    Two landings at once would write each record twice.
    """
    folder = local_folder(delta_root)
    if folder is None:  # buckets have no locks: what schedules the job must run it only once
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "land.lock"
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
