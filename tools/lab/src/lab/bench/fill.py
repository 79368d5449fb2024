"""Fills databases and landed tables with what many orders leave, by SQL and Spark."""

from functools import reduce
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.names import DATABASE, INPUT_TOPIC, SUBSCRIBER
from lab.environment import connect_as_admin
from spark.landed_tables import COLUMNS, make_tables, table_path
from spark.settings import Settings
from spark.snapshot import open_snapshots
from spark.statements import read_statements
from spark.topics import topics_to_land

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
OF_SERVICE = ("records", "tracking", "fulfillment", "rejection", "dead_letter", "outbox")
OF_AUDIT = ("audit_entry", "audit_outbox")
AS_LANDED = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "key",
    "value",
    "if(header is null, array(), array(struct(header as key, binary(header_value) as value)))",
)


def fill(env: dict[str, str], settings: Settings, spark: SparkSession, orders: int) -> None:
    """Write all that so many orders leave in the databases and in the lake."""
    with (
        connect_as_admin(env, "DATABASE_URL") as service,
        connect_as_admin(env, "AUDIT_DATABASE_URL") as audit,
    ):
        for name in OF_SERVICE:
            service.execute(statement(name, orders).encode())
        audit.execute(STATEMENTS["audited_table"].encode())
        copy_audited(service, audit)
        for name in OF_AUDIT:
            audit.execute(statement(name).encode())
        for database in (service, audit):
            database.execute("vacuum analyze")
    fill_lake(settings, spark)


def statement(name: str, orders: int = 0) -> str:
    """Return a statement for so many orders."""
    sql = STATEMENTS[name]
    values = {"orders": str(orders), "subscriber": SUBSCRIBER, "input_topic": INPUT_TOPIC}
    for field, value in values.items():
        sql = sql.replace(f"{{{field}}}", value)
    return sql


def copy_audited(service: psycopg.Connection, audit: psycopg.Connection) -> None:
    """Copy what the service sends from its database to the receiver's."""
    query = statement("audited")
    with (
        service.cursor().copy(f"copy ({query}) to stdout".encode()) as source,
        audit.cursor().copy("copy audited from stdin") as target,
    ):
        for block in source:
            target.write(block)


def fill_lake(settings: Settings, spark: SparkSession) -> None:
    """Append what landing would have landed, to a table for each topic."""
    topics = topics_to_land(settings, []).all()
    make_tables(spark, settings.delta_root, topics)
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        rows = [snapshots[DATABASE].read(spark, statement("landed_records"))]
        for snapshot in snapshots.values():
            events = snapshot.read(spark, statement("landed_events"))
            rows.append(events)
        landed = reduce(DataFrame.union, rows).selectExpr(*AS_LANDED).toDF(*COLUMNS)
        for topic in topics:
            of_topic = landed.where(F.col("topic") == topic)
            path = table_path(settings.delta_root, topic)
            of_topic.write.format("delta").mode("append").save(path)
