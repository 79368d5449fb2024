"""The streaming query that lands every topic."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from access.kafka import kafka_connection
from access.kafka_java import spark_source
from spark.kafka.positions import (
    EARLIEST,
    LATEST,
    Position,
    in_kafka,
    offsets_at,
    partitions_of,
    rename,
    starting_offsets,
)
from spark.kafka.topic_ids import (
    Later,
    Seen,
    TopicIds,
    confirm,
    find_topic_ids,
    latest_names,
    name_topics,
    note_topics,
    read_seen,
    refuse_later,
    refuse_other_topics,
)
from spark.lake.checkpoint import (
    checkpoint_path,
    checkpoint_topics,
    committed_ends,
    delete_checkpoint,
    keep_checkpoint,
    refuse_damaged_checkpoint,
    unfinished_batch,
)
from spark.lake.delta_log import refuse_damaged_logs
from spark.lake.landed_tables import (
    commit_nothing,
    landed_positions,
    leave_out_landed,
    make_tables,
    read_landed,
    table_path,
)
from spark.lake.losses import (
    Loss,
    find_losses,
    read_accepted,
    record_accepted,
    refuse_losses,
    refuse_others,
)
from spark.landing.batch_size import offsets_in_a_batch
from spark.lease import Lease, hold_lease
from spark.rows.retired_landed import read_retired
from spark.session import log_progress
from spark.settings import Settings

AT_ONCE = 2  # tables: much of an append is planning, which one thread does

Append = Callable[[DataFrame, str, str, int], None]  # rows, table's path, query id, batch id


class TopicsFound(NamedTuple):
    """The topics that are there now, and those that have landed."""

    ids: TopicIds
    seen: Seen
    begins: dict[Position, int]  # the first offset that Kafka has, by the names of rows


class Start(NamedTuple):
    """Where landing goes on, and in which topics."""

    topic_ids: TopicIds
    names: Mapping[str, str]  # what the rows of each topic are called
    offsets: Mapping[Position, int]  # by Kafka's names


@contextmanager
def hold_landing(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> Iterator[Lease]:
    """Be the only one who lands, or raise BlockingIOError: two would write each record twice.

    Whoever had the lease and did not give it back may be about to commit. A commit of ours to each
    table takes the number that this commit would have; so it is refused.
    """
    with hold_lease(spark, settings.delta_root, "land") as lease:
        if lease.is_taken_over:
            commit_nothing(spark, settings.delta_root, topics, lease.number)
        yield lease


def append_batch(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
    """Append to a Delta table; its history says which batch that was.

    Delta could tell by a transaction id that it has a batch already. For that it reads all that its
    log says of files, and of those that compaction has replaced within a week: seconds for each
    append, once there are some hundred thousand of them.
    """
    named = {"userMetadata": f"{query_id} batch {batch_id}"}
    writer = rows.write.format("delta").mode("append").options(**named)
    writer.save(path)


def start_landing(
    spark: SparkSession,
    settings: Settings,
    topics: Sequence[str],
    *,
    once: bool,
    append: Append = append_batch,
) -> StreamingQuery:
    """Start the query where its checkpoint ends, or after the tables' last rows if that is lost.

    A batch that was begun and not committed comes again first. What of it has landed is left out.
    """
    query_id: Future[str] = Future()
    start = find_start(spark, settings, topics)
    checkpoint = checkpoint_path(settings.delta_root)
    unfinished = unfinished_batch(spark, checkpoint)
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))

    def land(batch: DataFrame, batch_id: int) -> None:
        """Append each topic's rows to its table; Kafka is read once for all of them."""

        def append_of(topic: str) -> None:
            is_of_topic = F.col("topic") == topic
            name = F.lit(start.names[topic])
            rows = batch.where(is_of_topic).withColumn("topic", name)
            path = table_path(settings.delta_root, topic)
            if batch_id == unfinished:
                rows = leave_out_landed(rows, path)
                if rows.isEmpty():
                    return
            append(rows, path, query_id.result(), batch_id)

        batch.persist()
        counts = dict(sorted(map(tuple, batch.groupBy("topic").count().collect())))
        confirm(admin, start.topic_ids)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            appends = []
            for topic in counts:
                stops_with_query = inheritable_thread_target(spark)(append_of)
                appends.append(threads.submit(stops_with_query, topic))
        for one in appends:
            one.result()  # raises what a thread has raised
        batch.unpersist()
        summary = ", ".join(f"{topic} {count:,}" for topic, count in counts.items()) or "nothing"
        log_progress(f"batch {batch_id}: {summary}")

    records = read_topics(spark, settings, start.offsets)
    records = records.drop("timestampType")
    writer = records.writeStream.foreachBatch(land)
    if once:
        writer = writer.trigger(availableNow=True)
    else:
        interval = f"{settings.land_trigger_seconds} seconds"
        writer = writer.trigger(processingTime=interval)
    query = writer.start(checkpointLocation=checkpoint)
    query_id.set_result(query.id)
    return query


def read_topics(
    spark: SparkSession, settings: Settings, start: Mapping[Position, int]
) -> DataFrame:
    """Return the stream of all records; it fails if some were deleted before they landed."""
    waiting = waiting_from(settings, start)
    topics = {topic for topic, _partition in start}
    options: dict[str, Any] = {
        **spark_source(settings.kafka_bootstrap_servers),
        "kafka.fetch.max.wait.ms": "20",  # a task reads what is there, and waits for nothing else
        "subscribe": ",".join(topics),
        "startingOffsets": starting_offsets(start),  # used without a checkpoint only
        "maxOffsetsPerTrigger": offsets_in_a_batch(settings, waiting),
        "includeHeaders": True,
        "failOnDataLoss": True,
    }
    reader = spark.readStream.format("kafka").options(**options)
    return reader.load()


def find_start(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> Start:
    """Make the missing tables, and return the offset at which each partition goes on.

    End the job if Kafka has deleted what has not landed, or a topic is another one than before.
    """
    found = look_at_topics(spark, settings, topics)
    refuse_later(found.seen, found.ids)
    names = name_topics(found.seen, found.ids)
    checkpoint = checkpoint_path(settings.delta_root)
    refuse_damaged_checkpoint(spark, checkpoint)
    refuse_damaged_logs(spark, settings.delta_root, checkpoint, topics)
    make_tables(spark, settings.delta_root, topics)
    offsets = find_offsets(spark, settings, topics, names, found.begins)
    note_topics(spark, settings.delta_root, found.seen, found.ids)
    return Start(found.ids, names, in_kafka(offsets))


def find_offsets(
    spark: SparkSession,
    settings: Settings,
    topics: Sequence[str],
    names: Mapping[str, str],
    begins: Mapping[Position, int],
) -> dict[Position, int]:
    """Return where each partition goes on; end the job if something before that is lost."""
    checkpoint = checkpoint_path(settings.delta_root)
    if keep_checkpoint(spark, checkpoint, topics):
        ends = rename(committed_ends(spark, checkpoint), names)
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


def look_at_topics(spark: SparkSession, settings: Settings, topics: Sequence[str]) -> TopicsFound:
    """Return what Kafka has now, and what has landed of these topics."""
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    partitions = partitions_of(admin, topics)
    topic_ids = find_topic_ids(admin, topics)  # first: what is created again later has another one
    seen = read_seen(spark, settings.delta_root)
    begins = offsets_at(admin, partitions, EARLIEST)
    return TopicsFound(topic_ids, seen, rename(begins, name_topics(seen, topic_ids)))


def waiting_from(settings: Settings, start: Mapping[Position, int]) -> dict[Position, range]:
    """Return the offsets of each partition that have not landed."""
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    ends = offsets_at(admin, start, LATEST)
    waiting = {}
    for position, first in start.items():
        waiting[position] = range(first, ends[position])
    return waiting


def find_lost(
    spark: SparkSession,
    settings: Settings,
    landed: Mapping[Position, range],
    begins: Mapping[Position, int],
) -> list[Loss]:
    """Return what Kafka has deleted and what has not landed.

    A lake that is new misses nothing; one that has begun has seen every partition from its start.
    One with a later topic had begun before that.
    """
    checkpoint = checkpoint_path(settings.delta_root)
    has_later = any("@" in topic for topic, _partition in begins)
    has_begun = has_later or bool(checkpoint_topics(spark, checkpoint))
    reached = dict.fromkeys(begins, 0) if has_begun else {}
    for position, offsets in landed.items():
        reached[position] = offsets.stop
    return find_losses(reached, begins)


def accept_losses(
    spark: SparkSession, settings: Settings, topics: Sequence[str], accepted: Sequence[Loss]
) -> None:
    """Remember that these losses are accepted, if they are exactly what is lost."""
    begins = look_at_topics(spark, settings, topics).begins
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
    is_of_topic = F.col("topic") == loss.topic
    is_of_partition = F.col("partition") == loss.partition
    is_lost = F.col("offset").between(loss.first, loss.last)
    found = rows.where(is_of_topic & is_of_partition & is_lost)
    return found.isEmpty()


def accept_later(
    spark: SparkSession, settings: Settings, topics: Sequence[str], accepted: Sequence[Later]
) -> None:
    """Let the rows of these topics land under names of their own, if they were created again.

    The checkpoint goes first: its offsets are those of the earlier topics.
    """
    found = look_at_topics(spark, settings, topics)
    refuse_other_topics(accepted, found.seen, found.ids)
    delete_checkpoint(spark, checkpoint_path(settings.delta_root))
    note_topics(spark, settings.delta_root, found.seen, dict(accepted))


def landed_so_far(
    spark: SparkSession, delta_root: str, topics: Sequence[str]
) -> dict[Position, range]:
    """Return the offsets of each partition that landing has come past.

    Some have no row: markers of transactions where a batch ends, and losses that were accepted.
    """
    tables = read_landed(spark, delta_root, topics)
    landed = landed_positions(tables)
    checkpoint = checkpoint_path(delta_root)
    names = latest_names(read_seen(spark, delta_root))
    ends = list(rename(committed_ends(spark, checkpoint), names).items())
    for accepted in read_accepted(spark, delta_root):
        loss = accepted.loss
        ends.append(((loss.topic, loss.partition), loss.last + 1))
    ends += read_retired(spark, delta_root).stops.items()
    for position, end in ends:
        rows = landed.get(position, range(end, end))
        landed[position] = range(rows.start, max(end, rows.stop))
    return landed
