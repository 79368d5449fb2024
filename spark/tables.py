"""The job that keeps the tables for analysts: one for each event type, a row for each event id."""

import argparse
import json

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from contract.events import EVENTS
from spark.event_tables import rebuild_table, table_path, update_table
from spark.lake.landed_tables import is_landed
from spark.lease import hold_lease
from spark.session import describe, exit_with_error, log_progress, make_session
from spark.settings import Settings

FAILURES = (PySparkException, Py4JError, OSError)  # what Spark, its JVM or a file may raise


def main() -> None:
    """Bring the event tables up to what has landed; exit 1 if an event is not as the contract says.

    There is a table for each event type of the contract: a row for each event id, with the typed
    columns of its body.
    """
    parser = argparse.ArgumentParser(prog="python -m spark.tables", description=main.__doc__)
    parser.add_argument(
        "--rebuild", action="store_true", help="make the tables again, of everything that landed"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a program to read")
    arguments = parser.parse_args()
    settings = Settings()
    try:
        spark = make_session("tables", settings.spark_jars_dir)
        with hold_lease(spark, settings.delta_root, "tables"):
            counts = fill_tables(spark, settings, rebuild=arguments.rebuild)
    except BlockingIOError:
        exit_with_error(f"another run fills the tables of {settings.delta_root}: wait for it")
    except FAILURES as error:
        exit_with_error(
            f"the event tables are not complete: {describe(error)}; run it again, or with --rebuild"
            " if what landed is no longer in the log of its table"
        )
    print(json.dumps(counts) if arguments.json else say(counts))  # noqa: T201 - the result
    if any(count["unreadable"] for count in counts.values()):
        raise SystemExit(1)


def fill_tables(
    spark: SparkSession, settings: Settings, *, rebuild: bool
) -> dict[str, dict[str, int]]:
    """Fill the table of each event type; return how many rows each has, and how many unreadable."""
    fill = rebuild_table if rebuild else update_table
    counts = {}
    for event in EVENTS:
        if not is_landed(spark, settings.delta_root, event.topic):
            exit_with_error(f"topic {event.topic} is not landed yet: land first (pipeline land)")
        table = fill(spark, settings.delta_root, event)
        counts[event.event_type] = count_rows(table)
        log_progress(table_path(settings.delta_root, event))
    return counts


def count_rows(table: DataFrame) -> dict[str, int]:
    """Return how many events a table has, and how many of them are not as the contract says."""
    unreadable = table.where("unreadable is not null").count()
    return {"events": table.count(), "unreadable": unreadable}


def say(counts: dict[str, dict[str, int]]) -> str:
    """Return a line for each table."""
    lines = []
    for event_type, count in counts.items():
        line = f"{event_type}: {count['events']:,} events"
        if count["unreadable"]:
            line += (
                f", {count['unreadable']:,} are not as contract/events.py says: see `unreadable`"
            )
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    main()
