"""Fills databases and landed tables with what many orders leave, by SQL and Spark."""

from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC, SUBSCRIBER
from lab.environment import connect_as_admin
from spark.lake.landed_tables import COLUMNS, make_tables, table_path
from spark.rows.snapshot import open_snapshots
from spark.settings import Settings
from spark.statements import read_statements
from spark.topics import topics_to_land

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
SLICES = 100  # a reconciliation confirms the old by transactions: one would be all of it
OF_SERVICE = (
    "record_table",
    "records",
    "tracking",
    "fulfillment",
    "rejection",
    "dead_letter",
    "outbox",
)
OF_AUDIT = ("audit_entry", "audit_outbox")
LAST_EVENT = b"select coalesce(max(seq), 0) from outbox"
AS_LANDED = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "key",
    "value",
    "if(header is null, array(), array(struct(header as key, binary(header_value) as value)))",
)


def fill(
    env: dict[str, str], settings: Settings, spark: SparkSession, first: int, last: int
) -> None:
    """Write all that these orders leave in the databases and in the lake.

    They are numbered from 1 on; a second call goes on where the first has ended.
    """
    last_events = fill_databases(env, first, last)
    fill_lake(settings, spark, first, last, last_events)


def fill_databases(env: dict[str, str], first: int, last: int) -> dict[str, int]:
    """Write what these orders leave in the databases; return the last events before them."""
    with (
        connect_as_admin(env, "DATABASE_URL") as service,
        connect_as_admin(env, "AUDIT_DATABASE_URL") as audit,
    ):
        last_events = {DATABASE: last_event(service), AUDIT_DATABASE: last_event(audit)}
        for orders in divide(range(first, last + 1)):
            with service.transaction():
                fill_service(service, orders.start, orders.stop - 1)
            with audit.transaction():
                fill_audit(service, audit, orders)
        for database in (service, audit):
            database.execute("vacuum analyze")
    return last_events


def divide(orders: range) -> Iterator[range]:
    """Give orders in slices; what one has left is written in one transaction, as by the service."""
    size = max(1, len(orders) // SLICES)
    for place in range(0, len(orders), size):
        yield orders[place : place + size]


def fill_service(service: psycopg.Connection, first: int, last: int) -> None:
    """Write what these orders leave in the service's database."""
    for name in OF_SERVICE:
        service.execute(statement(name, first=first, last=last).encode())


def fill_audit(service: psycopg.Connection, audit: psycopg.Connection, orders: range) -> None:
    """Write what these orders leave in the receiver's database."""
    audit.execute(statement("audited_table").encode())
    copy_audited(service, audit, orders)
    for name in OF_AUDIT:
        audit.execute(statement(name).encode())


def last_event(database: psycopg.Connection) -> int:
    """Return the last number that the outbox has given."""
    row = database.execute(LAST_EVENT).fetchone()
    assert row is not None  # an aggregate has one row
    return int(row[0])


def statement(name: str, **numbers: int) -> str:
    """Return a statement with these numbers in it."""
    sql = STATEMENTS[name]
    values = {"subscriber": SUBSCRIBER, "input_topic": INPUT_TOPIC, **numbers}
    for field, value in values.items():
        sql = sql.replace(f"{{{field}}}", str(value))
    return sql


def copy_audited(service: psycopg.Connection, audit: psycopg.Connection, orders: range) -> None:
    """Copy what the service sends from its database to the receiver's."""
    query = statement("audited", first=orders.start, last=orders.stop - 1)
    with (
        service.cursor().copy(f"copy ({query}) to stdout".encode()) as source,
        audit.cursor().copy("copy audited from stdin") as target,
    ):
        for block in source:
            target.write(block)


def fill_lake(
    settings: Settings,
    spark: SparkSession,
    first: int,
    last: int,
    last_events: Mapping[str, int],
) -> None:
    """Append what landing would have landed of these orders, to a table for each topic."""
    topics = topics_to_land(settings, []).all()
    make_tables(spark, settings.delta_root, topics)
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        records = statement("landed_records", first=first, last=last)
        rows = [snapshots[DATABASE].read(spark, records)]
        for name, snapshot in snapshots.items():
            events = snapshot.read(spark, statement("landed_events", seq=last_events[name]))
            rows.append(events)
        landed = reduce(DataFrame.union, rows).selectExpr(*AS_LANDED).toDF(*COLUMNS)
        for topic in topics:
            of_topic = landed.where(F.col("topic") == topic)
            path = table_path(settings.delta_root, topic)
            of_topic.write.format("delta").mode("append").save(path)
