"""The job that compares every hop, id by id, at positions that cannot move any more."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import psycopg
from confluent_kafka import KafkaException
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from contract import names
from spark import outcome, report
from spark.comparison import compare, find_behind, path_of
from spark.frames import end_offsets
from spark.losses import read_accepted
from spark.parts import Part, load_parts
from spark.session import (
    STARTED_AT,
    describe,
    exit_with_error,
    locate,
    log_progress,
    make_frame,
    make_session,
)
from spark.settings import Settings, refuse_dedup_store
from spark.settled import Options, settle
from spark.topic_ids import describe_later
from spark.topics import Topics

Row = dict[str, Any]
Result = Row

RUN_SCHEMA = "run_id string, ok boolean, verdict string, positions string, hops string"

# What Postgres, Kafka, Spark, its JVM or a file may raise: nothing was found out then.
FAILURES = (psycopg.Error, KafkaException, PySparkException, Py4JError, LookupError, OSError)


def run(spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options) -> Result:
    """Settle, compare, store the outcomes, and return what the report says.

    While landing is behind, nothing is compared: what it has not read would seem to be missing.
    """
    now = datetime.now(UTC)
    run_id = now.strftime("%Y%m%dT%H%M%S.%fZ")
    settled = settle(spark, settings, parts, options)
    accepted = read_accepted(spark, settings.delta_root)
    losses = [one.loss for one in accepted]

    counts: list[Row] = []
    findings: list[Row] = []
    failed_repairs: list[Row] = []
    behind = settled.behind
    if not behind:
        judged = compare(spark, settings, parts, settled, losses)
        counts = judged.counts
        if outcome.count_open(counts):
            repairs = settled.databases.frames["repair"]
            findings = outcome.first_findings(judged.outcomes)
            failed_repairs = outcome.failed_repairs(judged.outcomes, repairs)
            store_outcomes(settings, run_id, judged.outcomes)
        behind = find_behind(judged, settled)

    path = [hop.name for hop in path_of(settled.topics, parts)]
    result: Result = {
        "run_id": run_id,
        "hops": report.sort_by_path(counts, path),
        "findings": report.sort_by_path(findings, path),
        "accepted_losses": [*describe_later(settled.seen), *(one.describe() for one in accepted)],
        "failed_repairs": report.sort_by_path(failed_repairs, path),
        **report.verdict_of(counts, behind),
        "positions": {
            "committed": settled.group.committed,
            "log": settled.databases.log_positions,
            "ends": end_offsets(settled.extent.all()),
        },
    }
    store_run(spark, settings, result, settled.topics)
    return result


def store_outcomes(settings: Settings, run_id: str, judged: DataFrame) -> None:
    """Append a row for each id that is late or a defect; of what is matched, counts are enough."""
    open_ = judged.where("outcome <> 'matched'")
    outcomes = open_.selectExpr(f"'{run_id}' as run_id", "hop", "id", "outcome", "detail")
    append(outcomes, f"{settings.delta_root}/reconcile/outcome")


def store_run(spark: SparkSession, settings: Settings, result: Result, topics: Topics) -> None:
    """Append a row for the run, and write the page for people."""
    root = f"{settings.delta_root}/reconcile"
    run_id = result["run_id"]
    row = (
        run_id,
        result["ok"],
        result["verdict"],
        json.dumps(result["positions"]),
        json.dumps(result["hops"]),
    )
    append(make_frame(spark, [row], RUN_SCHEMA), f"{root}/run")

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
