"""The job that compares every hop, id by id, at positions that cannot move any more."""

import argparse
import json
import sys
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import psycopg
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.hops import all_hops
from spark.land import alone, landed_positions, read_landed, start
from spark.outcome import count_hops, first_findings, judge
from spark.positions import Position, committed, landing_behind, offsets_now, partitions, wait
from spark.report import as_text, in_order, render, verdict_of
from spark.session import BEGAN, give_up, make_session, say
from spark.settings import Settings
from spark.snapshot import Snapshot, read_all, snapshot
from spark.sources import LEDGER, acknowledged, landed_records, late_sources, offsets_between
from spark.storage import write_text

ORDERS = "order.events"
SLOTS = ("fulfillment_outbox", "audit_outbox")

Frames = dict[str, DataFrame]
Result = dict[str, Any]


def run(spark: SparkSession, settings: Settings, land: bool, ledger: str | None, deadline: float) -> Result:
    """Settle, compare, keep the outcomes, and return what people are told."""
    run_id = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    kafka = partitions(admin, settings.topics)
    handled = committed(admin, settings.group_id, ORDERS)
    with ExitStack() as connections:
        password = settings.reconciler_password_file.read_text().strip()
        urls = (settings.database_url, settings.audit_database_url)
        moments = [connections.enter_context(snapshot(url, password)) for url in urls]
        held = read_at(spark, moments, settings.subscriber, ledger)
        for moment, slot in zip(moments, SLOTS, strict=True):
            wait(deadline, lambda moment=moment, slot=slot: moment.behind(slot))  # type: ignore[misc]
    say("both slots have passed")
    there = offsets_now(admin, kafka, ORDERS)
    held |= settle_landing(spark, settings, there, land, deadline)
    judged = judge(all_hops(held), late_sources(held["landed"], held["tracking"], handled)).persist()
    ends = {f"{topic}/{partition}": offsets.stop for (topic, partition), offsets in there.items()}
    log = dict(zip(SLOTS, (moment.lsn for moment in moments), strict=True))
    result = {"run_id": run_id, "positions": {"committed": handled, "log": log, "ends": ends}, **look_at(judged)}
    keep(spark, f"{settings.delta_root}/reconcile", judged, result)
    return result


def read_at(spark: SparkSession, moments: list[Snapshot], subscriber: str, ledger: str | None) -> Frames:
    """Everything that was there at these moments, read now and held: nothing of it is read again later."""
    frames = read_all(spark, *moments)
    frames["tracking"] = frames["tracking"].where(F.col("subscriber") == subscriber)
    sent = spark.read.json(ledger, schema=LEDGER, mode="FAILFAST") if ledger else spark.createDataFrame([], LEDGER)
    frames["ledger"] = acknowledged(sent)
    held = {name: frame.persist() for name, frame in frames.items()}
    reduce(DataFrame.unionByName, (frame.select(F.lit(1).alias("row")) for frame in held.values())).count()
    for moment in moments:
        moment.connection.execute("rollback")  # Postgres may clean up again
    say("the databases are read")
    return held


def settle_landing(
    spark: SparkSession, settings: Settings, there: dict[Position, range], land: bool, deadline: float
) -> Frames:
    """Land, or wait for the one who does; then what has landed, and the offsets that must have."""
    landed, found, landed_here = spark.range(0), dict[Position, range](), False
    if land:
        with suppress(BlockingIOError), alone(settings.delta_root):
            start(spark, settings, once=True).awaitTermination()
            landed_here = True

    def behind() -> str:
        nonlocal landed, found
        landed.unpersist()
        landed = landed_records(read_landed(spark, settings), there).persist()
        found = landed_positions(landed)
        return "" if landed_here else landing_behind(found, there)

    wait(deadline, behind)
    say("everything has landed")
    must = {at: range(min(kept.start, found.get(at, kept).start), kept.stop) for at, kept in there.items()}
    return {"landed": landed, "expected": offsets_between(spark, must)}


def look_at(judged: DataFrame) -> Result:
    """Counts, first findings and verdict."""
    hops = in_order(row.asDict() for row in count_hops(judged).collect())
    findings = in_order(row.asDict() for row in first_findings(judged).collect())
    say("every hop is compared")
    return {**verdict_of(hops), "hops": hops, "findings": findings}


def keep(spark: SparkSession, root: str, judged: DataFrame, result: Result) -> None:
    """One row for each outcome, one for the run, and the page for people."""
    outcomes = judged.select(F.lit(result["run_id"]).alias("run_id"), "hop", "id", "outcome", "detail")
    outcomes.write.format("delta").mode("append").save(f"{root}/outcome")
    texts = {name: json.dumps(result[name]) for name in ("positions", "hops")}
    row = {name: result[name] for name in ("run_id", "ok", "verdict")} | texts
    one = spark.range(1).select(*(F.lit(value).alias(name) for name, value in row.items()))
    one.write.format("delta").mode("append").save(f"{root}/run")
    result["report"] = f"{root}/report/{result['run_id']}.html"
    write_text(spark, result["report"], render(result))
    say("outcomes and report are kept")


def main() -> None:
    """Compare every hop, id by id; exit 0 when nothing is lost or doubled, 1 otherwise, 2 when unsettled."""
    settings = Settings()
    parser = argparse.ArgumentParser(prog="python -m spark.reconcile", description=main.__doc__)
    parser.add_argument("--land", action="store_true", help="land what is there first")
    parser.add_argument("--ledger", metavar="FILE", help="what the producer saw acknowledged")
    parser.add_argument("--deadline", type=float, default=settings.reconcile_deadline_seconds, metavar="S")
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args()
    try:
        spark = make_session("reconcile", settings.spark_jars_dir)
        result = run(spark, settings, arguments.land, arguments.ledger, BEGAN + arguments.deadline)
        spark.stop()
    except (psycopg.Error, KafkaException, PySparkException, Py4JError, LookupError, OSError) as error:
        give_up(f"could not look: {error}")
    print(json.dumps(result) if arguments.json else as_text(result))  # noqa: T201 - the result
    sys.exit(0 if result["ok"] else 1)


if __name__ == "__main__":
    main()
