"""What the databases held at one moment, and whether an outbox slot has passed that moment."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from access.postgres import tls_of
from contract.events import COMPARED, EVENTS
from contract.names import AUDIT_DATABASE, DATABASE, SUBSCRIBER
from spark.parts import Part
from spark.rows.ranges import divide
from spark.session import exit_with_error
from spark.statements import read_statements

# What an audit entry repeats of the event that it reports, beside the outcome.
AUDITED = ("order_id", "fulfillment_id", "total")

OTHER_VALUE = "its row is of another value than the message that was tracked"

BEGIN = "begin isolation level repeatable read, read only"
EXPORT = """
    select
        pg_export_snapshot(),
        pg_current_wal_insert_lsn()::text,
        pg_current_snapshot()::text,
        system_identifier::text,
        timeline_id
    from pg_control_system(), pg_control_checkpoint()
"""
# Each range is a query of its own, too short for the program that PostgreSQL would make for it.
SHARE = """
    set transaction isolation level repeatable read;
    set transaction snapshot '{name}';
    set jit = off
"""
# The horizon comes no further than the first transaction that is not over. On one server, that may
# be one of any database.
HOLDERS = """
    with running as (
        select datname, pid, application_name, usename::text, xact_start as since
        from pg_stat_activity
        where backend_xid is not null
        union all
        select database, null, 'prepared transaction ' || gid, owner, prepared
        from pg_prepared_xacts
    )
    select
        datname,
        pid,
        coalesce(nullif(application_name, ''), usename),
        to_char(since at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')
    from running
    where since < clock_timestamp() - make_interval(secs => %s)
    order by since
"""
BYTES_BEHIND = """
    select pg_wal_lsn_diff(%s, confirmed_flush_lsn)::bigint
    from pg_replication_slots
    where slot_name = %s
"""
FOREIGN = (errors.UndefinedTable, errors.UndefinedColumn, errors.InsufficientPrivilege)
PAGES = "select coalesce(pg_relation_size(to_regclass(%s)) / current_setting('block_size')::int, 0)"
SIZE = """
    select coalesce(sum(pg_relation_size(to_regclass(name))), 0)
    from unnest(%s::text[]) as name
"""
PAGES_OF_A_RANGE = 8192  # 64 MB: a second or two of reading
MOST_RANGES = 64  # of a table: each is a query to plan
FETCH_ROWS = 10_000
OF_SUBSCRIBER = (
    "tracking",
    "forgotten",
    "forgotten_range",
    "rejection",
    "letters",
    "dropped",
    "parked",
    "audit_failure",
)
# They grow with every message. Their frames have their names, and say with {rows} what they read.
LARGE = ("tracking", "fulfillment", "rejection", "dead_letter", "audit_entry", "outbox")
STATEMENTS_FILE = Path(__file__).with_name("snapshot.sql")


class Moment(NamedTuple):
    """What tells whether a later moment of a database comes after this one."""

    lsn: str
    transactions: str  # which were over, as PostgreSQL writes a snapshot: xmin:xmax:running
    system: str  # the same on a server and its standbys
    timeline: int  # another one after each failover, and after each restore


class Holder(NamedTuple):
    """A transaction that has been open for so long that it holds the horizon back."""

    database: str
    pid: int | None  # a prepared one has none
    application: str
    since: str

    def __str__(self) -> str:
        """Return what the verdict says of it."""
        database = f"database {self.database}"
        where = database if self.pid is None else f"pid {self.pid}, {database}"
        place = f"{self.application} ({where})"
        age = f"open since {self.since} UTC"
        return f"a transaction of {place}, {age}, holds the horizon back"


class Selection(NamedTuple):
    """Which rows of the tables are read, in SQL."""

    rows: str = "true"
    is_new: str = "true"  # whether a row was written since the horizon
    tracking_rows: str = "true"  # which tracking rows may be of the same messages
    ranges: str = "true"  # which ranges of offsets retention has noted


EVERYTHING = Selection()
Select = Callable[[str, str], Selection]  # by database and frame


class Snapshot(NamedTuple):
    """One moment of one database, which Spark's own connections share until it is released."""

    connection: psycopg.Connection
    slot: str
    name: str
    moment: Moment

    def read(self, spark: SparkSession, query: str) -> DataFrame:
        """Return the rows of a query at this moment; after the release, reading fails loudly."""
        self.check(query)
        server = self.connection.info
        address = f"{server.host}:{server.port}/{server.dbname}"
        options = {
            "driver": "org.postgresql.Driver",
            "url": f"jdbc:postgresql://{address}",
            "user": server.user,
            "password": server.password,
            "sessionInitStatement": SHARE.format(name=self.name),
            "fetchsize": str(FETCH_ROWS),
            "query": query,
            **tls_of(server.get_parameters()),
        }
        reader = spark.read.format("jdbc").options(**options)
        return reader.load()

    def check(self, query: str) -> None:
        """End the job if this database does not have the tables and columns of the query."""
        no_rows = f"select from ({query}) as query limit 0"
        try:
            self.connection.execute(no_rows.encode())
        except FOREIGN as error:
            database = self.connection.info.dbname
            exit_with_error(
                f"database {database} is not of this version: {error.diag.message_primary};"
                " run python -m migrations upgrade"
            )

    def count_pages(self, table: str) -> int:
        """Return how many pages a table has now; what is visible at this moment is in them."""
        [(pages,)] = self.connection.execute(PAGES, (table,))
        return int(pages)

    def held_by(self, longer_than_seconds: float) -> list[Holder]:
        """Return the transactions that have written, and have been open for longer than this."""
        found = self.connection.execute(HOLDERS, (longer_than_seconds,))
        return [Holder(*row) for row in found]

    def release(self) -> None:
        """Let Postgres clean up again what was deleted since this moment."""
        self.connection.execute("rollback")

    def behind(self) -> str:
        """Return a sentence if the slot's reader has not confirmed everything up to this moment."""
        found = self.connection.execute(BYTES_BEHIND, (self.moment.lsn, self.slot))
        row = found.fetchone()
        if row is None:
            exit_with_error(
                f"there is no replication slot {self.slot}: run python -m migrations upgrade"
            )
        [bytes_behind] = row
        if bytes_behind <= 0:
            return ""
        return f"slot {self.slot} is {bytes_behind:,} bytes behind: is its connector running?"


def connect(url: str, password_file: Path) -> psycopg.Connection:
    """Return a connection as the role that may read what is compared."""
    password = password_file.read_text().strip()
    address = make_conninfo(url, user="reconciler", password=password)
    return psycopg.connect(address, autocommit=True)


def count_bytes(databases: Iterable[str], password_file: Path) -> int:
    """Return how large the tables are together that grow with every message."""
    total = 0
    for url in databases:
        with connect(url, password_file) as connection:
            [(size,)] = connection.execute(SIZE, (list(LARGE),))
            total += int(size)
    return total


@contextmanager
def open_snapshot(url: str, slot: str, password_file: Path) -> Iterator[Snapshot]:
    """Hold this moment of a database; all that is visible in it is below its log position."""
    with connect(url, password_file) as connection:
        # It is idle while Spark reads through connections of its own.
        connection.execute("set idle_in_transaction_session_timeout = 0")
        connection.execute(BEGIN)
        exported = connection.execute(EXPORT)
        row = exported.fetchone()
        assert row is not None  # noqa: S101 - a select without a table has one row
        name, *moment = row
        yield Snapshot(connection, slot, name, Moment(*moment))


@contextmanager
def open_snapshots(
    databases: Mapping[str, str], password_file: Path
) -> Iterator[dict[str, Snapshot]]:
    """Hold a moment of each database; the slot of its outbox has its name."""
    with ExitStack() as opened:
        snapshots = {}
        for name, url in databases.items():
            snapshot = open_snapshot(url, f"{name}_outbox", password_file)
            snapshots[name] = opened.enter_context(snapshot)
        yield snapshots


def select_all(_database: str, _frame: str) -> Selection:
    """Select every row of a table."""
    return EVERYTHING


def read_tables(
    spark: SparkSession,
    subscriber: str,
    snapshots: Mapping[str, Snapshot],
    select: Select = select_all,
    only: Collection[str] | None = None,
) -> dict[str, DataFrame]:
    """Return a frame for each table that is compared, or for some; all outboxes are one.

    Each takes a connection of its own, only to find out the types of its columns.
    """

    def read(frame: str, database: str = DATABASE) -> DataFrame:
        snapshot = snapshots[database]
        selection = select(database, frame)
        if frame in LARGE and selection == EVERYTHING:
            pages = snapshot.count_pages(frame)
            ranges = divide(frame, pages, least=PAGES_OF_A_RANGE, most=MOST_RANGES)
            selections = [selection._replace(rows=rows) for rows in ranges]
        else:
            selections = [selection]
        parts = [snapshot.read(spark, select_rows(statements[frame], one)) for one in selections]
        return reduce(DataFrame.union, parts).withColumn("database", F.lit(database))

    def read_own(frame: str) -> DataFrame:
        return read(frame).where(is_of_subscriber)

    def read_with_owner(frame: str) -> DataFrame:
        return read(frame).withColumn("is_own", is_of_subscriber)

    def read_of_audit(frame: str) -> DataFrame:
        return read(frame, AUDIT_DATABASE)

    def read_of_each(frame: str) -> DataFrame:
        return reduce(DataFrame.union, [read(frame, database) for database in snapshots])

    statements = table_statements()
    is_of_subscriber = F.col("subscriber") == subscriber
    ways: dict[str, Callable[[str], DataFrame]] = {
        **dict.fromkeys(OF_SUBSCRIBER, read_own),
        **dict.fromkeys(("dead_letter", "retired_letter_range"), read_with_owner),
        **dict.fromkeys(("fulfillment", "retired_letter", "repair"), read),
        **dict.fromkeys(("audit_entry", "retired_entry", "retired_entry_range"), read_of_audit),
        **dict.fromkeys(("outbox", "retired"), read_of_each),
    }
    wanted = ways if only is None else only
    return {name: ways[name](name) for name in wanted}


def read_tables_of_extras(
    spark: SparkSession, snapshots: Mapping[str, Snapshot], parts: Sequence[Part]
) -> dict[str, DataFrame]:
    """Return a frame for each table that an extra compares."""
    snapshot = snapshots[DATABASE]
    statements = [statement for part in parts for statement in part.tables.items()]
    return {name: snapshot.read(spark, statement) for name, statement in statements}


def select_rows(statement: str, selection: Selection) -> str:
    """Return a statement that reads these rows."""
    for name, condition in selection._asdict().items():
        statement = statement.replace(f"{{{name}}}", condition)
    return statement


def table_statements() -> dict[str, str]:
    """Return the statements of snapshot.sql with the columns and outcomes of the contract.

    Which rows they read is left open.
    """
    deciding = [event for event in EVENTS if event.outcome is not None]
    outcomes = [f"('{event.event_type}', '{event.outcome}')" for event in deciding]
    compared_columns = [column_as_text(name) for name in COMPARED]
    compared_fields = [field_as_text(name) for name in COMPARED]
    audited_columns = [column_as_text(name) for name in AUDITED]
    audited_fields = [field_as_text(name) for name in AUDITED]
    lists = {
        "compared_columns": ", ".join(compared_columns),
        "compared_fields": ", ".join(compared_fields),
        "audited_columns": ", ".join(["outcome", *audited_columns]),
        "audited_fields": ", ".join(["outcome", *audited_fields]),
        "outcomes": ", ".join(outcomes),
        "default_subscriber": f"'{SUBSCRIBER}'",
        "other_value": f"'{OTHER_VALUE}'",
        "rows": "{rows}",
        "is_new": "{is_new}",
        "tracking_rows": "{tracking_rows}",
        "ranges": "{ranges}",
    }
    statements = {}
    for name, sql in read_statements(STATEMENTS_FILE).items():
        statements[name] = sql.format_map(lists)
    return statements


def column_as_text(name: str) -> str:
    """Return SQL for a column as the text that the same value has in an event.

    That holds for every type but timestamps, whose text has more than one form.
    """
    return f"to_jsonb({name}) #>> '{{}}'"


def field_as_text(name: str) -> str:
    """Return SQL for the text of a field of an event."""
    return f"body->>'{name}'"
