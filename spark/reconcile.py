"""The job that compares every hop, id by id, at positions that cannot move any more."""

import argparse
import json
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import psycopg
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark import hops, outcome, positions, report, snapshot, sources
from spark import land as landing
from spark.session import BEGAN, give_up, locate, make_session, say
from spark.settings import INPUTS, Settings

Frames = dict[str, DataFrame]
Ranges = dict[positions.Position, range]
Result = dict[str, Any]


def run(
    spark: SparkSession, settings: Settings, land: bool, ledger: str | None, deadline: float
) -> Result:
    """Settle, compare, keep the outcomes, and return what people are told."""
    run_id = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    partitions = positions.partitions(admin, settings.topics)
    committed = positions.committed(admin, settings.group_id, INPUTS[0])
    held, log = read_settled(spark, settings, ledger, deadline)
    there = positions.offsets_now(admin, partitions, INPUTS[0])
    held |= settle_landing(spark, settings, there, land, deadline)
    late = sources.query(sources.LATE, held, committed=json.dumps(committed))
    judged = sources.query(outcome.JUDGED, {"hops": hops.all_hops(held), "late": late}).persist()
    counts = report.in_order(
        row.asDict() for row in sources.query(outcome.COUNTED, {"judged": judged}).collect()
    )
    findings = report.in_order(
        row.asDict() for row in sources.query(outcome.FIRST, {"judged": judged}).collect()
    )
    say("every hop is compared")
    ends = {f"{topic}/{partition}": offsets.stop for (topic, partition), offsets in there.items()}
    at: Result = {"committed": committed, "log": log, "ends": ends}
    result = {
        "run_id": run_id,
        "positions": at,
        "hops": counts,
        "findings": findings,
        **report.verdict_of(counts),
    }
    keep(spark, f"{settings.delta_root}/reconcile", judged, result)
    return result


def read_settled(
    spark: SparkSession, settings: Settings, ledger: str | None, deadline: float
) -> tuple[Frames, Result]:
    """Read and hold everything that was there at one moment, until both outbox slots have passed it."""
    password_file, schema = settings.reconciler_password_file, sources.LEDGER
    sent = (
        spark.read.json(ledger, schema, mode="FAILFAST")
        if ledger
        else spark.createDataFrame([], schema)
    )
    with (
        snapshot.at_one_moment(
            settings.database_url, "fulfillment_outbox", password_file
        ) as fulfillment,
        snapshot.at_one_moment(settings.audit_database_url, "audit_outbox", password_file) as audit,
    ):
        held = snapshot.read_all(spark, settings.subscriber, fulfillment, audit)
        held["ledger"] = sources.query(sources.ACKNOWLEDGED, {"ledger": sent})
        reduce(
            DataFrame.union, (frame.persist().selectExpr("1") for frame in held.values())
        ).count()  # in one job
        say("the databases are read")
        for moment in (fulfillment, audit):
            moment.connection.execute("rollback")  # Postgres may clean up again
        for moment in (fulfillment, audit):
            positions.wait(deadline, moment.behind)
    return held, {moment.slot: moment.lsn for moment in (fulfillment, audit)}


def settle_landing(
    spark: SparkSession, settings: Settings, there: Ranges, land: bool, deadline: float
) -> Frames:
    """Land, or wait for the one who does; then what has landed, and the offsets that must have."""
    landed_here = False
    if land:
        with suppress(BlockingIOError), landing.alone(settings.delta_root):
            landing.start(spark, settings, once=True).awaitTermination()
            landed_here = True

    def behind() -> str:
        return positions.landing_behind(
            landing.landed_positions(landing.read_landed(spark, settings)), there
        )

    if not landed_here:
        positions.wait(deadline, behind)
    landed = sources.landed_records(landing.read_landed(spark, settings), there).persist()
    found = landing.landed_positions(landed)
    say("everything has landed")
    must = {
        at: range(min(kept.start, found.get(at, kept).start), kept.stop)
        for at, kept in there.items()
    }
    return {"landed": landed, "expected": sources.offsets_between(spark, must)}


def keep(spark: SparkSession, root: str, judged: DataFrame, result: Result) -> None:
    """One row for each outcome, one for the run, and the page for people."""
    outcomes = judged.selectExpr(
        f"'{result['run_id']}' as run_id", "hop", "id", "outcome", "detail"
    )
    outcomes.write.format("delta").mode("append").save(f"{root}/outcome")
    one = {name: result[name] for name in ("run_id", "ok", "verdict")}
    one |= {name: json.dumps(result[name]) for name in ("positions", "hops")}
    spark.createDataFrame([one]).write.format("delta").mode("append").save(f"{root}/run")
    result["report"] = f"{root}/report/{result['run_id']}.html"
    files, path = locate(spark, result["report"])
    files.setWriteChecksum(False)
    with closing(files.create(path, True)) as stream:
        stream.write(bytearray(report.render("report.html.j2", result).encode()))
    say("outcomes and report are kept")


def main() -> None:
    """Compare every hop, id by id; exit 0 when nothing is lost or doubled, 1 otherwise, 2 when unsettled."""
    settings = Settings()
    parser = argparse.ArgumentParser(prog="python -m spark.reconcile", description=main.__doc__)
    parser.add_argument("--land", action="store_true", help="land what is there first")
    parser.add_argument("--ledger", metavar="FILE", help="what the producer saw acknowledged")
    parser.add_argument(
        "--deadline", type=float, default=settings.reconcile_deadline_seconds, metavar="S"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args()
    try:
        spark = make_session("reconcile", settings.spark_jars_dir)
        result = run(spark, settings, arguments.land, arguments.ledger, BEGAN + arguments.deadline)
    except (
        psycopg.Error,
        KafkaException,
        PySparkException,
        Py4JError,
        LookupError,
        OSError,
    ) as error:
        give_up(f"could not look: {error}")
    print(json.dumps(result) if arguments.json else report.render("report.txt.j2", result))  # noqa: T201 - the result
    sys.exit(0 if result["ok"] else 1)


if __name__ == "__main__":
    main()
