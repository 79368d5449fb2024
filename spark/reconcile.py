"""The job that compares every hop, id by id, at positions that cannot move any more."""

import argparse
import json
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import psycopg
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from spark import sources
from spark.hops import all_hops
from spark.land import alone, start
from spark.landing import Position, landed_positions, read_tables
from spark.outcome import count_hops, first_findings, judge
from spark.positions import committed, partitions
from spark.report import as_text, in_order, render, verdict_of
from spark.session import give_up, make_session
from spark.settings import Settings
from spark.settle import hold, landing_behind, offsets_now, wait
from spark.snapshot import Snapshot, read_all, snapshot
from spark.storage import write_text

SLOTS = ("fulfillment_outbox", "audit_outbox")
BEGAN = time.monotonic()


def run(settings: Settings, land: bool, ledger: str | None, deadline: float) -> dict[str, Any]:
    """Settle, compare, keep the outcomes, and return what people are told."""
    run_id = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    kafka = partitions(admin, settings.topics)
    handled = committed(admin, settings.group_id, sources.ORDERS)
    password = settings.reconciler_password_file.read_text().strip()
    urls = (settings.database_url, settings.audit_database_url)
    with ExitStack() as connections:
        moments = [connections.enter_context(snapshot(url, password)) for url in urls]
        spark = make_session("reconcile", settings.spark_jars_dir)
        held = hold(prepare(spark, read_all(spark, *moments), settings.subscriber, handled, ledger))
        progress("the databases are read")
        for moment, slot in zip(moments, SLOTS, strict=True):
            wait_for_slot(moment, slot, deadline)
    there = offsets_now(admin, kafka)
    held |= settle_landing(spark, settings, there, land, deadline)
    judged = judge(all_hops(held), sources.late_sources(held["landed"], held["tracking"], handled)).persist()
    hops = in_order(row.asDict() for row in count_hops(judged).collect())
    findings = in_order(row.asDict() for row in first_findings(judged).collect())
    progress("every hop is compared")
    positions = {
        "committed": handled,
        "log": {slot: moment.lsn for slot, moment in zip(SLOTS, moments, strict=True)},
        "ends": {f"{topic}/{partition}": offsets.stop for (topic, partition), offsets in there.items()},
    }
    result = {"run_id": run_id, **verdict_of(hops), "hops": hops, "findings": findings, "positions": positions}
    keep(spark, f"{settings.delta_root}/reconcile", judged, result)
    spark.stop()
    return result


def prepare(
    spark: SparkSession, read: dict[str, DataFrame], subscriber: str, handled: dict[int, int], ledger: str | None
) -> dict[str, DataFrame]:
    """Rows and ledger in the columns that are compared."""
    prepared = {
        "tracking": sources.tracked(read["tracking"], subscriber, handled),
        "fulfillment": sources.fulfilled(read["fulfillment"]),
        "dead_letter": sources.buried(read["dead_letter"]),
        "outbox": sources.published(read["outbox"]),
        "audit_entry": sources.audited(read["audit_entry"]),
    }
    if ledger:
        lines = spark.read.json(ledger, schema=sources.LEDGER, mode="FAILFAST")
        prepared["ledger"] = sources.acknowledged(lines)
    return prepared


def wait_for_slot(moment: Snapshot, slot: str, deadline: float) -> None:
    """Until every event of the snapshot is on its topic."""

    def behind() -> str:
        left = moment.bytes_behind(slot)
        return f"slot {slot} is {left} bytes behind: is its connector running?" if left else ""

    moment.close()
    wait(deadline, behind)
    progress(f"slot {slot} has passed")


def settle_landing(
    spark: SparkSession, settings: Settings, there: dict[Position, range], land: bool, deadline: float
) -> dict[str, DataFrame]:
    """Land it, or wait for the one who lands; then the landed rows, and the offsets that must be there."""
    with alone(settings.delta_root) as is_alone:
        if landed_here := land and is_alone:
            start(spark, settings, True, progress).awaitTermination()
    held: list[DataFrame] = []
    found: dict[Position, range] = {}

    def behind() -> str:
        held[:] = [sources.landed_records(read_tables(spark, settings.landed, settings.topics), there).persist()]
        found.update(landed_positions(held[0]))
        return "" if landed_here else landing_behind(found, there)

    wait(deadline, behind)
    progress("everything has landed")
    must = {at: range(min(offsets.start, found.get(at, offsets).start), offsets.stop) for at, offsets in there.items()}
    return {"landed": held[0], "expected": sources.offsets_between(spark, must)}


def keep(spark: SparkSession, root: str, judged: DataFrame, result: dict[str, Any]) -> None:
    """One row for each outcome, one for the run, and the page for people."""
    run_id = result["run_id"]
    outcomes = judged.select(F.lit(run_id).alias("run_id"), "hop", "id", "outcome", "detail")
    outcomes.write.format("delta").mode("append").save(f"{root}/outcome")
    values = [run_id, result["ok"], result["verdict"], json.dumps(result["positions"]), json.dumps(result["hops"])]
    names = ("run_id", "ok", "verdict", "positions", "hops")
    one = spark.range(1).select(*(F.lit(value).alias(name) for name, value in zip(names, values, strict=True)))
    one.write.format("delta").mode("append").save(f"{root}/run")
    result["report"] = f"{root}/report/{run_id}.html"
    write_text(spark, result["report"], render(result))
    progress("outcomes and report are kept")


def progress(line: str) -> None:
    """Where the run is, beside its result."""
    print(f"{time.monotonic() - BEGAN:6.1f} s  {line}", file=sys.stderr)  # noqa: T201 - a person waits


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
        result = run(settings, arguments.land, arguments.ledger, BEGAN + arguments.deadline)
    except (psycopg.Error, KafkaException, PySparkException, Py4JError, LookupError, OSError) as error:
        give_up(f"could not look: {error}")
    print(json.dumps(result) if arguments.json else as_text(result))  # noqa: T201 - the result
    sys.exit(0 if result["ok"] else 1)


if __name__ == "__main__":
    main()
