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
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from contract import names
from spark import outcome, positions, report
from spark.frames import (
    Frames,
    derive_frames,
    end_offsets,
    expected_offsets,
    identify_landed,
    late_sources,
    read_ledger,
)
from spark.hops import Hop, make_hops, union_hops
from spark.landed_tables import is_landed, landed_positions, read_landed
from spark.landing_query import exclusive_lock, start_landing
from spark.parts import Part, load_parts
from spark.positions import Position, wait_until_settled
from spark.session import STARTED_AT, exit_with_error, locate, log_progress, make_session
from spark.settings import Settings, refuse_dedup_store
from spark.snapshot import open_snapshot, read_tables
from spark.topics import Topics, topics_to_land

Result = dict[str, Any]

# What Postgres, Kafka, Spark, its JVM or a file may raise: nothing was found out then.
FAILURES = (psycopg.Error, KafkaException, PySparkException, Py4JError, LookupError, OSError)

SERVICE_SLOT = f"{names.DATABASE}_outbox"
AUDIT_SLOT = f"{names.AUDIT_DATABASE}_outbox"


class Options(NamedTuple):
    """What one run is asked to do."""

    land: bool  # first land what is there
    ledger: str | None  # a file or folder with what producers saw acknowledged
    deadline: float  # for settling, on the clock of time.monotonic


def run(spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options) -> Result:
    """Settle, compare, store the outcomes, and return what the report says."""
    now = datetime.now(UTC)
    run_id = now.strftime("%Y%m%dT%H%M%S.%fZ")
    topics = topics_to_land(settings, parts)
    hops = make_hops(topics.input)
    for part in parts:
        hops += part.hops
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    partitions = positions.partitions_of(admin, topics.all())

    # In this sequence, what is committed has its rows in the snapshot, and what is in the snapshot
    # has its events below the end offsets.
    committed = positions.committed_offsets(admin, settings.group_id, topics.input)
    frames, log_positions = read_databases(spark, settings, parts, options)
    retired = retired_topics(spark, settings, topics, frames["outbox"])
    current = positions.current_offsets(admin, partitions, last=topics.input)
    has_landed = False
    if options.land:
        has_landed = land_here(spark, settings, topics)
    if not has_landed:
        wait_until_landed(spark, settings, topics, current, options.deadline)
    if retired:
        events = (*topics.events, *retired)
        topics = topics._replace(events=events)
        tables = read_landed(spark, settings.delta_root, retired)
        current |= landed_positions(tables)
    frames |= read_lake(spark, settings, topics, current)

    judged = judge(frames, hops, parts, topics, committed)
    result = summarize(judged, hops)
    result["run_id"] = run_id
    result["positions"] = {
        "committed": committed,
        "log": log_positions,
        "ends": end_offsets(current),
    }
    store(spark, settings, judged, result, topics)
    return result


def read_databases(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options
) -> tuple[Frames, Mapping[str, str]]:
    """Read both databases, each at one moment, and wait until Connect has published what they held.

    Return the frames, and the position in the write-ahead log that each outbox slot has passed.
    """
    password_file = settings.reconciler_password_file
    with (
        open_snapshot(settings.database_url, SERVICE_SLOT, password_file) as fulfillment,
        open_snapshot(settings.audit_database_url, AUDIT_SLOT, password_file) as audit,
    ):
        frames = read_tables(spark, settings.subscriber, fulfillment, audit, parts)
        frames["ledger"] = read_ledger(spark, options.ledger)
        persist_all(frames.values())
        log_progress("the databases are read")
        snapshots = (fulfillment, audit)
        for snapshot in snapshots:
            snapshot.release()
        for snapshot in snapshots:
            wait_until_settled(options.deadline, snapshot.behind)
    log_positions = {snapshot.slot: snapshot.lsn for snapshot in snapshots}
    return frames, log_positions


def persist_all(frames: Iterable[DataFrame]) -> None:
    """Read all frames in one job, and keep them in memory."""
    rows = []
    for frame in frames:
        frame.persist()
        rows.append(frame.selectExpr("1"))
    rows_of_all = reduce(DataFrame.union, rows)
    rows_of_all.count()


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
    deadline: float,
) -> None:
    """Wait for the landing that is at work elsewhere."""

    def behind() -> str:
        tables = read_landed(spark, settings.delta_root, topics.all())
        landed = landed_positions(tables)
        return positions.landing_behind(landed, current)

    wait_until_settled(deadline, behind)


def read_lake(
    spark: SparkSession, settings: Settings, topics: Topics, current: Mapping[Position, range]
) -> Frames:
    """Return what has landed, and every offset that must have."""
    tables = read_landed(spark, settings.delta_root, topics.all())
    landed = identify_landed(tables, current, topics)
    landed.persist()
    found = landed_positions(landed)
    log_progress("everything has landed")
    expected = {}
    for position, offsets in current.items():
        # Kafka may have deleted what landed long ago.
        landed_offsets = found.get(position, offsets)
        first = min(offsets.start, landed_offsets.start)
        expected[position] = range(first, offsets.stop)
    return {
        "landed": landed,
        "expected_offset": expected_offsets(spark, expected),
    }


def judge(
    frames: Frames,
    hops: Sequence[Hop],
    parts: Sequence[Part],
    topics: Topics,
    committed: Mapping[int, int],
) -> DataFrame:
    """Return the outcome of each id of each hop, and keep it in memory."""
    late = late_sources(frames, topics.input, committed)
    derived = derive_frames(frames, parts)
    rows = union_hops(frames | derived, hops)
    judged = outcome.judge(rows, late)
    return judged.persist()


def summarize(judged: DataFrame, hops: Sequence[Hop]) -> Result:
    """Return the counts of each hop, the first findings, and the verdict."""
    path = [hop.name for hop in hops]
    counts = outcome.count_outcomes(judged)
    findings = outcome.first_findings(judged)
    log_progress("every hop is compared")
    return {
        "hops": report.sort_by_path(counts, path),
        "findings": report.sort_by_path(findings, path),
        **report.verdict_of(counts),
    }


def store(
    spark: SparkSession, settings: Settings, judged: DataFrame, result: Result, topics: Topics
) -> None:
    """Append a row for each outcome and one for the run, and write the page for people."""
    root = f"{settings.delta_root}/reconcile"
    run_id = result["run_id"]
    outcomes = judged.selectExpr(f"'{run_id}' as run_id", "hop", "id", "outcome", "detail")
    append(outcomes, f"{root}/outcome")
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
    outbox_topics = [topic for topic in topics.events if topic != names.AUDIT_TOPIC]
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


def describe(error: Exception) -> str:
    """Return an error as one sentence; errors of the JVM bring their whole stack."""
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.toString())
        return first_line(text)
    text = str(error)
    if isinstance(error, PySparkException):
        return first_line(text.strip())
    words = text.split()
    return " ".join(words)


def first_line(text: str) -> str:
    """Return the text up to its first line break."""
    line, _, _ = text.partition("\n")
    return line


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

    Exit with 0 if nothing is lost or doubled, 1 if something is, 2 if it could not be found out.
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
