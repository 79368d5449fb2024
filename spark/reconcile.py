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
from pyspark.sql import functions as F

from contract import names
from contract.pulse import PULSE_TOPIC
from spark.judging import outcome
from spark.judging.comparison import compare, find_behind, path_of
from spark.judging.horizon import (
    Horizon,
    JudgeAllError,
    NotCheckedError,
    Version,
    describe_confirmation,
    describe_horizon,
    list_shares,
    read_horizon,
    read_versions,
    reason_to_judge_all,
)
from spark.judging.seal import Run, seal
from spark.judging.settled import Options, settle
from spark.judging.since import compare_since, confirm_due
from spark.kafka.positions import refuse_without_login
from spark.kafka.topic_ids import describe_later
from spark.lake.losses import read_accepted
from spark.lease import hold_lease
from spark.parts import Part, load_parts
from spark.reporting import report
from spark.rows.frames import end_offsets
from spark.rows.held import place_to_hold
from spark.rows.retired_landed import read_retired
from spark.rows.snapshot import count_bytes
from spark.run_id import RUN_ID
from spark.session import (
    STARTED_AT,
    describe,
    exit_with_error,
    locate,
    log_progress,
    make_frame,
    make_session,
)
from spark.settings import TRACKING, Settings
from spark.topics import Topics

Row = dict[str, Any]
Result = Row

RUN_SCHEMA = "run_id string, ok boolean, verdict string, positions string, hops string"

LONG_FROM_BYTES = 300_000_000  # 200,000 orders: a minute

# What Postgres, Kafka, Spark, its JVM or a file may raise: nothing was found out then.
FAILURES = (psycopg.Error, KafkaException, PySparkException, Py4JError, LookupError, OSError)


def open_session(name: str, settings: Settings) -> SparkSession:
    """Return a session that suits what the databases hold."""
    size = count_bytes(settings.databases().values(), settings.reconciler_password_file)
    return make_session(name, settings.spark_jars_dir, is_long=size >= LONG_FROM_BYTES)


def run(spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options) -> Result:
    """Settle, compare, store the outcomes, and return what the report says.

    Where the last run allows it, only what came since is judged, and what was open then. Of two
    runs at once, one says so and ends.
    """
    try:
        with (
            hold_lease(spark, settings.delta_root, f"reconcile-{settings.subscriber}"),
            place_to_hold(spark, f"{settings.delta_root}/held/{settings.subscriber}"),
        ):
            return judge_what_is_needed(spark, settings, parts, options)
    except BlockingIOError:
        exit_with_error(
            f"another reconcile is at work in {settings.delta_root}: wait for it, or stop it"
        )


def judge_what_is_needed(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options
) -> Result:
    """Judge what came since the last run, or everything."""
    horizon = find_horizon(spark, settings, parts, options)
    try:
        return judge(spark, settings, parts, options, horizon)
    except JudgeAllError as reason:
        log_progress(f"judging everything: {reason}")
        return judge(spark, settings, parts, options, None)


def find_horizon(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], options: Options
) -> Horizon | None:
    """Return the horizon to start from, if everything need not be judged."""
    horizon = read_horizon(spark, settings.delta_root, settings.subscriber)
    reason = reason_to_judge_all(
        horizon,
        all_every=settings.reconcile_all_every,
        all_orders=settings.reconcile_all_orders,
        keep_hours=settings.compact_keep_hours,
    )
    if options.full:
        reason = "as asked for"
    if options.ledger:
        reason = "a ledger says what there must be of it"
    if settings.dedup_store != TRACKING:
        reason = f"DEDUP_STORE={settings.dedup_store} keeps no row for each message"
    if any(part.hops for part in parts):
        reason = "an extra has hops of its own"
    if reason:
        log_progress(f"judging everything: {reason}")
        return None
    return horizon


def judge(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    options: Options,
    horizon: Horizon | None,
) -> Result:
    """Judge everything, or what came since a horizon.

    While landing is behind, nothing is compared: what it has not read would seem to be missing.
    """
    run_id = datetime.now(UTC).strftime(RUN_ID)
    accepted = read_accepted(spark, settings.delta_root)
    losses = [one.loss for one in accepted]
    if horizon and horizon.losses != len(losses):
        raise JudgeAllError("a loss was accepted since the last run")

    shares = list_shares(horizon)
    not_checked = horizon.not_checked if horizon else 0
    counts: list[Row] = []
    findings: list[Row] = []
    failed_repairs: list[Row] = []
    confirmed: Row | None = None
    versions: dict[str, Version] = {}
    with settle(spark, settings, parts, options, horizon) as settled:
        behind = settled.behind
        if not behind:
            versions = read_versions(spark, settings.delta_root, settled.topics.all())
            if horizon:
                shares = confirm_due(spark, settings, settled, horizon, run_id)
                judged = compare_since(spark, settings, settled, horizon, versions)
            else:
                judged = compare(spark, settings, parts, settled, losses)
            counts = judged.counts
            if outcome.count_open(counts):
                repairs = settled.databases.frames["repair"]
                findings = outcome.first_findings(judged.outcomes)
                failed_repairs = outcome.failed_repairs(judged.outcomes, repairs)
                store_outcomes(settings, run_id, judged.outcomes)
            behind = find_behind(judged, settled)
            not_checked = outcome.count_not_checked(counts) + not_checked
            found = Run(run_id, settled, versions, len(losses), judged, behind, shares, not_checked)
            if not options.ledger:
                seal(spark, settings, found, horizon)
            options.use(found)
            confirmed = describe_confirmation(run_id, shares)

    since = describe_horizon(horizon, shares)
    holders = settled.databases.holders
    path = [hop.name for hop in path_of(settled.topics, parts)]
    result: Result = {
        "run_id": run_id,
        "since": since,
        "confirmed": confirmed,
        "held_by": [holder._asdict() for holder in holders],
        "not_checked": not_checked,
        "hops": report.sort_by_path(counts, path),
        "findings": report.sort_by_path(findings, path),
        "accepted_losses": [*describe_later(settled.seen), *(one.describe() for one in accepted)],
        "retired": read_retired(spark, settings.delta_root).describe(),
        "letters": count_letters(settled.databases.frames["letters"]),
        "failed_repairs": report.sort_by_path(failed_repairs, path),
        **report.verdict_of(counts, behind, since, not_checked, holders),
        "positions": {
            "committed": settled.group.committed,
            "log": settled.databases.log_positions(),
            "ends": end_offsets(settled.extent.all()),
            "ledger": end_of_ledger(settled.databases.frames["ledger"], options),
            "delta": {topic: version.number for topic, version in versions.items()},
        },
    }
    store_run(spark, settings, result, settled.topics)
    return result


def count_letters(letters: DataFrame) -> Row:
    """Return how many dead letters are open, and how many are closed."""
    [(open_, closed)] = letters.agg(F.sum("open"), F.sum("closed")).collect()
    return {"open": open_ or 0, "closed": closed or 0}


def end_of_ledger(ledger: DataFrame, options: Options) -> Row | None:
    """Return how many records a ledger has, and where it ends; None without one."""
    if not options.ledger:
        return None
    place = F.substring_index("position", "/", 2)
    offset = F.substring_index("position", "/", -1).cast("bigint")
    ends = ledger.groupBy(place).agg(F.count("*"), F.max(offset) + 1).collect()
    return {
        "records": sum(records for _, records, _ in ends),
        "ends": {place: end for place, _, end in ends},
    }


def store_outcomes(settings: Settings, run_id: str, judged: DataFrame) -> None:
    """Append a row for each id that is open or a defect; of what is matched, counts are enough."""
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
    not_drawn = {PULSE_TOPIC, *names.OTHER_OUTBOXES}
    outbox_topics = [topic for topic in topics.events if topic not in not_drawn]
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


def read_arguments(settings: Settings) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m spark.reconcile", description=main.__doc__)
    parser.add_argument("--land", action="store_true", help="land what is there first")
    parser.add_argument("--ledger", metavar="FILE", help="what the producer saw acknowledged")
    parser.add_argument(
        "--deadline", type=float, default=settings.reconcile_deadline_seconds, metavar="S"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="judge everything, not only what came since the last run",
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
    parts = load_parts()
    deadline = STARTED_AT + arguments.deadline
    options = Options(arguments.land, arguments.ledger, deadline, arguments.full)
    try:
        refuse_without_login(settings)
        spark = open_session("reconcile", settings)
        result = run(spark, settings, parts, options)
    except NotCheckedError as refusal:
        exit_with_error(str(refusal))
    except FAILURES as error:
        exit_with_error(f"could not look: {describe(error)}")
    text = json.dumps(result) if arguments.json else report.render_text(result)
    print(text)  # noqa: T201 - the result
    exit_code = 0 if result["ok"] else 1
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
