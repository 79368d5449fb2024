"""The job that compares every hop, id by id, at positions that cannot move any more."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import reduce
from typing import Any, NamedTuple

import psycopg
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract import names
from spark import outcome, positions, report
from spark.digest import add_counts, count_buckets, digest
from spark.frames import (
    Frames,
    derive_frames,
    end_offsets,
    identify_landed,
    late_sources,
    lost_offsets,
    place_ledger,
    read_ledger,
    remember_forgotten,
)
from spark.hops import (
    OUTBOX_TO,
    TOPICS_TO_LANDED,
    Hop,
    input_to_tracking,
    make_hops,
    union_hops,
)
from spark.landed_tables import is_landed, landed_positions, read_landed
from spark.landing_query import exclusive_lock, landed_so_far, start_landing
from spark.losses import Loss, read_accepted
from spark.markers import expected_records
from spark.parts import Part, load_parts
from spark.positions import Position
from spark.session import (
    STARTED_AT,
    describe,
    exit_with_error,
    locate,
    log_progress,
    make_session,
)
from spark.settings import Settings, refuse_dedup_store
from spark.snapshot import open_snapshots, read_tables
from spark.standstill import Behind, GroupLook, Patience, hops_behind, look_at_group
from spark.topic_ids import (
    Seen,
    describe_later,
    earlier_names,
    find_topic_ids,
    name_topics,
    read_seen,
)
from spark.topics import Topics, topics_to_land

Row = dict[str, Any]
Result = Row

ROWS_OF_AN_ORDER = 5  # in the databases: tracking, fulfillment, audit entry, and two events

# What Postgres, Kafka, Spark, its JVM or a file may raise: nothing was found out then.
FAILURES = (psycopg.Error, KafkaException, PySparkException, Py4JError, LookupError, OSError)


class Options(NamedTuple):
    """What one run is asked to do."""

    land: bool  # first land what is there
    ledger: str | None  # a file or folder with what producers saw acknowledged
    deadline: float  # for settling, on the clock of time.monotonic


class Judged(NamedTuple):
    """What became of the ids."""

    outcomes: DataFrame  # of each id that was judged alone
    counts: list[Row]  # of all ids


class Extent(NamedTuple):
    """The offsets of each partition, by what rows of its topic are called."""

    current: Mapping[Position, range]  # what Kafka holds
    earlier: Mapping[Position, range]  # what landed of topics that were deleted and created again

    def all(self) -> dict[Position, range]:
        """Return both."""
        return {**self.current, **self.earlier}


class Databases(NamedTuple):
    """What the databases held, and how far Connect has read their logs."""

    frames: Frames
    rows: int  # of all frames together
    log_positions: Mapping[str, str]  # of each outbox slot: what it must have passed
    not_passed: Mapping[str, str]  # the slots that have not, each with a sentence


def run(spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options) -> Result:
    """Settle, compare, store the outcomes, and return what the report says.

    While landing is behind, nothing is compared: what it has not read would seem to be missing.
    """
    now = datetime.now(UTC)
    run_id = now.strftime("%Y%m%dT%H%M%S.%fZ")
    topics = topics_to_land(settings, parts)
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    partitions = positions.partitions_of(admin, topics.all())
    seen = read_seen(spark, settings.delta_root)
    names_of_rows = name_topics(seen, find_topic_ids(admin, topics.all()))
    topics = topics._replace(input_name=names_of_rows[topics.input])
    patience = Patience(options.deadline, settings.reconcile_behind_seconds)

    # In this sequence, what is committed has its rows in the snapshot, and what is in the snapshot
    # has its events below the end offsets.
    group = look_at_group(admin, settings.group_id, topics.input)
    databases = read_databases(spark, settings, parts, options.ledger, patience)
    frames = databases.frames
    retired = retired_topics(spark, settings, topics, frames["outbox"])
    in_kafka = positions.current_offsets(admin, partitions, last=topics.input)
    current = positions.rename(in_kafka, names_of_rows)
    has_landed = options.land and land_here(spark, settings, topics)
    behind = [] if has_landed else wait_until_landed(spark, settings, topics, current, patience)
    if retired:
        events = (*topics.events, *retired)
        topics = topics._replace(events=events)
        tables = read_landed(spark, settings.delta_root, retired)
        current |= landed_positions(tables)
    extent = Extent(current, earlier_positions(spark, settings, seen))

    accepted = read_accepted(spark, settings.delta_root)
    losses = [one.loss for one in accepted]
    counts: list[Row] = []
    findings: list[Row] = []
    failed_repairs: list[Row] = []
    if not behind:
        frames |= read_lake(spark, settings, topics, extent, losses)
        if extent.earlier:
            frames["ledger"] = place_ledger(frames)
        frames |= remember_forgotten(frames)
        stuck_hops = hops_of_slots(databases.not_passed, topics)
        orders = databases.rows // ROWS_OF_AN_ORDER
        buckets = count_buckets(orders) if orders >= settings.reconcile_digest_orders else 0
        rows, late = rows_of_hops(frames, parts, topics, group.committed)
        judged = judge(rows, late, stuck_hops, buckets)
        counts = judged.counts
        log_progress("every hop is compared")
        if outcome.count_open(counts):
            findings = outcome.first_findings(judged.outcomes)
            failed_repairs = outcome.failed_repairs(judged.outcomes, frames["repair"])
            store_outcomes(settings, run_id, judged.outcomes)
        behind = service_behind(judged, group, patience)
        behind += connect_behind(counts, topics, databases.not_passed)
    path = [hop.name for hop in path_of(topics, parts)]
    result: Result = {
        "run_id": run_id,
        "hops": report.sort_by_path(counts, path),
        "findings": report.sort_by_path(findings, path),
        "accepted_losses": [*describe_later(seen), *(one.describe() for one in accepted)],
        "failed_repairs": report.sort_by_path(failed_repairs, path),
        **report.verdict_of(counts, behind),
        "positions": {
            "committed": group.committed,
            "log": databases.log_positions,
            "ends": end_offsets(extent.all()),
        },
    }
    store_run(spark, settings, result, topics)
    return result


def path_of(topics: Topics, parts: Sequence[Part]) -> list[Hop]:
    """Return the hops of the core, and behind them those of the extras."""
    hops = make_hops(topics.input)
    for part in parts:
        hops += part.hops
    return hops


def read_databases(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    ledger: str | None,
    patience: Patience,
) -> Databases:
    """Read each database at one moment, and wait until Connect has published what it held.

    A slot that does not get there is told: its reader is behind.
    """
    password_file = settings.reconciler_password_file
    with open_snapshots(settings.databases(), password_file) as of_database:
        frames = read_tables(spark, settings.subscriber, of_database, parts)
        frames["ledger"] = read_ledger(spark, ledger)
        rows = persist_all(frames.values())
        log_progress(f"{rows:,} rows of the databases are read")
        snapshots = of_database.values()
        for snapshot in snapshots:
            snapshot.release()
        not_passed = {}
        for snapshot in snapshots:
            sentence = patience.wait_until_settled(snapshot.behind)
            if sentence:
                not_passed[snapshot.slot] = sentence
    log_positions = {snapshot.slot: snapshot.lsn for snapshot in snapshots}
    return Databases(frames, rows, log_positions, not_passed)


def persist_all(frames: Iterable[DataFrame]) -> int:
    """Read all frames in one job, and keep them in memory; return how many rows they have."""
    rows = []
    for frame in frames:
        frame.persist()
        rows.append(frame.selectExpr("1"))
    rows_of_all = reduce(DataFrame.union, rows)
    return rows_of_all.count()


def retired_topics(
    spark: SparkSession, settings: Settings, topics: Topics, outbox: DataFrame
) -> list[str]:
    """Return the topics that outbox rows went to when an extra was here, and that landed then.

    End the job if a topic of the outbox never landed: all of its events would seem to be missing.
    """
    rows = outbox.select("topic").distinct().collect()
    sent_to = {row.topic for row in rows}
    still_written = set(topics.events)
    retired = sorted(sent_to - still_written)
    for topic in retired:
        if not is_landed(spark, settings.delta_root, topic):
            exit_with_error(
                f"topic {topic} is not landed, but outbox rows go to it:"
                " name it in contract/events.py, or in the Spark part of its extra"
            )
    return retired


def land_here(spark: SparkSession, settings: Settings, topics: Topics) -> bool:
    """Land what is there now; return False if another landing is at work."""
    try:
        with exclusive_lock(settings.delta_root):
            query = start_landing(spark, settings, topics.all(), once=True)
            query.awaitTermination()
    except BlockingIOError:
        return False
    return True


def wait_until_landed(
    spark: SparkSession,
    settings: Settings,
    topics: Topics,
    current: Mapping[Position, range],
    patience: Patience,
) -> list[Behind]:
    """Wait for the landing that is at work elsewhere; tell if it does not get there."""

    def left() -> dict[Position, range]:
        landed = landed_so_far(spark, settings.delta_root, topics.all())
        return positions.not_landed(landed, current)

    def behind() -> str:
        return positions.landing_behind(left())

    where = patience.wait_until_settled(behind)
    if not where:
        return []
    waiting = left()
    count = sum(len(offsets) for offsets in waiting.values())
    in_kafka = positions.in_kafka(waiting)
    since = positions.written_at(settings.kafka_bootstrap_servers, in_kafka)
    return [Behind(TOPICS_TO_LANDED, count, since, where)]


def earlier_positions(spark: SparkSession, settings: Settings, seen: Seen) -> dict[Position, range]:
    """Return what has landed of topics that were deleted and created again: it is all there is."""
    found: dict[Position, range] = {}
    for topic, earlier in earlier_names(seen).items():
        table = read_landed(spark, settings.delta_root, [topic])
        rows = table.where(F.col("topic").isin(*earlier))
        found |= landed_positions(rows)
    return found


def read_lake(
    spark: SparkSession,
    settings: Settings,
    topics: Topics,
    extent: Extent,
    losses: Sequence[Loss],
) -> Frames:
    """Return what has landed, every offset that must have, and those of losses."""
    tables = read_landed(spark, settings.delta_root, topics.all())
    landed = identify_landed(tables, extent.all(), topics)
    landed.persist()
    found = landed_positions(landed)
    log_progress("everything has landed")
    firsts = {position: offsets.start for position, offsets in found.items()}
    for loss in losses:
        position = (loss.topic, loss.partition)
        firsts[position] = min(loss.first, firsts.get(position, loss.first))
    expected = {}
    for position, offsets in extent.all().items():
        # Kafka may have deleted what landed long ago.
        first = min(offsets.start, firsts.get(position, offsets.start))
        expected[position] = range(first, offsets.stop)
    return {
        "landed": landed,
        "expected_offset": expected_records(settings, landed, expected, extent.current),
        "lost_offset": lost_offsets(spark, losses),
    }


def rows_of_hops(
    frames: Frames, parts: Sequence[Part], topics: Topics, committed: Mapping[int, int]
) -> tuple[DataFrame, DataFrame]:
    """Return the rows of all hops, and the sources that are late."""
    late = late_sources(frames, topics, committed)
    derived = derive_frames(frames, parts)
    hops = path_of(topics, parts)
    return union_hops(frames | derived, hops), late


def judge(rows: DataFrame, late: DataFrame, stuck_hops: Sequence[str], buckets: int) -> Judged:
    """Return the counts of all ids, and the outcome of each id that was judged alone.

    Without buckets these are all; with buckets, those in one whose digests differ.
    """
    others: list[Row] = []
    if buckets:
        late.persist()
        rows, others = digest(rows, late, buckets)
    judged = outcome.judge(rows, late, stuck_hops)
    judged.persist()
    counts = add_counts(outcome.count_outcomes(judged), others)
    return Judged(judged, counts)


def service_behind(judged: Judged, group: GroupLook, patience: Patience) -> list[Behind]:
    """Wait until each partition with late records has advanced; tell where ids wait if not."""
    input_hop = input_to_tracking(group.topic)
    partitions = []
    if any(row["late"] for row in judged.counts):
        partitions = outcome.late_partitions(judged.outcomes, input_hop)
    where = group.wait_for_advance(partitions, patience)
    if not where:
        return []
    of_service = [row for row in judged.counts if not row["hop"].startswith(OUTBOX_TO)]
    return hops_behind(of_service, input_hop, where)


def connect_behind(
    counts: Sequence[Row], topics: Topics, not_passed: Mapping[str, str]
) -> list[Behind]:
    """Tell in which hops to topics events wait, if the slot of their outbox does not advance."""
    behind = []
    for slot, where in not_passed.items():
        hops = hops_of_slots([slot], topics)
        of_slot = [row for row in counts if row["hop"] in hops]
        behind += hops_behind(of_slot, hops[0], where)
    return behind


def hops_of_slots(slots: Iterable[str], topics: Topics) -> list[str]:
    """Return the hops from the outboxes that are read through these slots to their topics."""
    hops = []
    for topic in topics.events:
        database = names.OTHER_OUTBOXES.get(topic, names.DATABASE)
        if f"{database}_outbox" in slots:
            hops.append(f"{OUTBOX_TO}{topic}")
    return hops


def store_outcomes(settings: Settings, run_id: str, judged: DataFrame) -> None:
    """Append a row for each id that is late or a defect; of what is matched, counts are enough."""
    open_ = judged.where("outcome <> 'matched'")
    outcomes = open_.selectExpr(f"'{run_id}' as run_id", "hop", "id", "outcome", "detail")
    append(outcomes, f"{settings.delta_root}/reconcile/outcome")


def store_run(spark: SparkSession, settings: Settings, result: Result, topics: Topics) -> None:
    """Append a row for the run, and write the page for people."""
    root = f"{settings.delta_root}/reconcile"
    run_id = result["run_id"]
    row = {
        "run_id": run_id,
        "ok": result["ok"],
        "verdict": result["verdict"],
        "positions": json.dumps(result["positions"]),
        "hops": json.dumps(result["hops"]),
    }
    runs = spark.createDataFrame([row])
    append(runs, f"{root}/run")

    address = f"{root}/report/{run_id}.html"
    result["report"] = address
    outbox_topics = [topic for topic in topics.events if topic not in names.OTHER_OUTBOXES]
    page = report.render_page(result, topics.input, outbox_topics)
    write_file(spark, address, page)
    log_progress("outcomes and report are stored")


def append(rows: DataFrame, path: str) -> None:
    """Append to a Delta table; make it if it is not there."""
    writer = rows.write.format("delta").mode("append")
    writer.save(path)


def write_file(spark: SparkSession, address: str, text: str) -> None:
    """Write a text file to a folder or a bucket."""
    files, path = locate(spark, address)
    files.setWriteChecksum(False)
    content = bytearray(text.encode())
    with closing(files.create(path, True)) as stream:
        stream.write(content)


def check_dedup_store(settings: Settings) -> None:
    """End the job for a dedup store without tracking rows: every message would be missing."""
    refusal = refuse_dedup_store(settings.dedup_store)
    if refusal:
        exit_with_error(refusal)


def read_arguments(settings: Settings) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m spark.reconcile", description=main.__doc__)
    parser.add_argument("--land", action="store_true", help="land what is there first")
    parser.add_argument("--ledger", metavar="FILE", help="what the producer saw acknowledged")
    parser.add_argument(
        "--deadline", type=float, default=settings.reconcile_deadline_seconds, metavar="S"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    return parser.parse_args()


def main() -> None:
    """Compare every hop, id by id.

    Exit with 0 if nothing is lost or doubled and all that waits advances, 1 if not, 2 if that
    could not be found out.
    """
    settings = Settings()
    arguments = read_arguments(settings)
    check_dedup_store(settings)
    parts = load_parts()
    deadline = STARTED_AT + arguments.deadline
    options = Options(arguments.land, arguments.ledger, deadline)
    try:
        spark = make_session("reconcile", settings.spark_jars_dir)
        result = run(spark, settings, parts, options)
    except FAILURES as error:
        exit_with_error(f"could not look: {describe(error)}")
    text = json.dumps(result) if arguments.json else report.render_text(result)
    print(text)  # noqa: T201 - the result
    exit_code = 0 if result["ok"] else 1
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
