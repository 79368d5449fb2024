"""Reconciliation as a textbook has it, in DuckDB and in Spark: what ours is measured against."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import psycopg
from deltalake import DeltaTable
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from contract.names import AUDIT_DATABASE, DATABASE
from spark.judging.settled import persist_all
from spark.lake.landed_tables import read_landed, table_path
from spark.rows.snapshot import (
    Selection,
    open_snapshots,
    read_tables,
    select_rows,
    table_statements,
)
from spark.settings import Settings
from spark.statements import read_statements

JOINS = read_statements(Path(__file__).with_suffix(".sql"))
VIEWS = read_statements(Path(__file__).with_name("textbook_views.sql"))
TABLES = {
    "tracking": [DATABASE],
    "fulfillment": [DATABASE],
    "dead_letter": [DATABASE],
    "audit_entry": [AUDIT_DATABASE],
    "outbox": [DATABASE, AUDIT_DATABASE],
}


class DefectError(Exception):
    """An arm has found a defect where none is: it did not do the work."""


def join_in_duckdb(settings: Settings, topics: Iterable[str]) -> None:
    """Join every hop in DuckDB, over the tables as CSV and the landed Parquet files."""
    files = []
    for topic in topics:
        files += DeltaTable(table_path(settings.delta_root, topic)).file_uris()
    with TemporaryDirectory(dir=settings.delta_root) as folder, duckdb.connect() as database:
        export(settings, Path(folder))
        for name in TABLES:
            csv = f"{folder}/{name}-*.csv"
            rows = database.read_csv(
                csv, header=True, all_varchar=True, quotechar='"', escapechar='"'
            )
            rows.create_view(name)
        database.read_parquet(files).create_view("landed_file")
        database.execute(f"create table landed as {VIEWS['landed in DuckDB']}")
        database.execute(f"create view expected as {VIEWS['expected in DuckDB']}")
        for hop, sql in JOINS.items():
            refuse_defects(hop, database.execute(sql).fetchone())


def export(settings: Settings, folder: Path) -> None:
    """Write each table as the reconciler reads it, and as fast, into files of CSV."""
    statements = table_statements()
    password = settings.reconciler_password_file.read_text().strip()
    for database, url in settings.databases().items():
        address = make_conninfo(url, user="reconciler", password=password, options="-c jit=off")
        with psycopg.connect(address) as connection, connection.cursor() as cursor:
            for name, databases in TABLES.items():
                if database in databases:
                    statement = select_rows(statements[name], Selection())
                    copy = f"copy ({statement}) to stdout (format csv, header)"
                    file = folder / f"{name}-{database}.csv"
                    with cursor.copy(copy.encode()) as rows, file.open("wb") as lines:
                        lines.writelines(rows)


def join_in_spark(spark: SparkSession, settings: Settings, topics: Iterable[str]) -> None:
    """Join every hop in Spark, over the same rows as the reconciliation reads them."""
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        frames = read_tables(spark, settings.subscriber, snapshots)
        frames, _ = persist_all(frames)
    landed_file = read_landed(spark, settings.delta_root, topics)
    landed = spark.sql(VIEWS["landed in Spark"], landed_file=landed_file)
    landed.persist()
    views = {name: frames[name] for name in TABLES}
    views["landed"] = landed
    views["expected"] = spark.sql(VIEWS["expected in Spark"], landed=landed)
    for name, view in views.items():
        view.createOrReplaceTempView(name)
    for hop, sql in JOINS.items():
        refuse_defects(hop, spark.sql(sql).first())
    spark.catalog.clearCache()


def refuse_defects(hop: str, counts: Iterable[int | None] | None) -> None:
    """Raise an error if a join has found anything: the rows have no defect.

    A sum over no rows is null: then there is nothing that could be wrong.
    """
    assert counts is not None
    found = list(counts)
    if any(found):
        raise DefectError(f"{hop}: missing, extra, different: {found}")
