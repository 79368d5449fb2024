"""What both databases held at one moment each, and whether an outbox slot has passed that moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession

FETCH_ROWS = "500"  # a dead letter may have 90 kB: 45 MB at once, at the worst

FULFILLMENT = {
    "tracking": """select subscriber, message_id, concat_ws('/', topic, partition, "offset") as position,
        partition, "offset", encode(value_sha256, 'hex') as sha256, audited_at is not null as audited,
        audit_error from tracking""",
    "fulfillment": """select message_id, order_id, fulfillment_id::text, customer_id, total::text, lines::text
        from fulfillment""",
    "dead_letter": """select concat_ws('/', topic, partition, "offset") as position from dead_letter""",
}
AUDIT_ENTRY = """select audit_entry_id::text, idempotency_key, message_id, order_id, outcome,
    fulfillment_id::text, total::text, encode(body_sha256, 'hex') as body_sha256 from audit_entry"""
OUTBOX = """select event_id::text, aggregate_type || '.events' as topic, aggregate_id as key, payload::text
    from outbox"""


class Snapshot(NamedTuple):
    """One moment of one database, which Spark's own connections can share while it is open."""

    connection: psycopg.Connection
    name: str
    lsn: str

    def read(self, spark: SparkSession, query: str) -> DataFrame:
        """The rows of a query at this moment; once the snapshot is closed, reading fails loudly."""
        at = self.connection.info
        isolation = "set transaction isolation level repeatable read, read only"
        options = {
            "driver": "org.postgresql.Driver",
            "url": f"jdbc:postgresql://{at.host}:{at.port}/{at.dbname}",
            "user": at.user,
            "password": at.password,
            "query": query,
            "fetchsize": FETCH_ROWS,
            "sessionInitStatement": f"{isolation}; set transaction snapshot '{self.name}'",
        }
        return spark.read.format("jdbc").options(**options).load()

    def bytes_behind(self, slot: str) -> int:
        """How much of the log, up to this moment, the slot's reader has not confirmed yet."""
        query = """select greatest(0, pg_wal_lsn_diff(%s, confirmed_flush_lsn))::bigint
            from pg_replication_slots where slot_name = %s"""
        for (left,) in self.connection.execute(query, (self.lsn, slot)):
            return int(left)
        raise LookupError(f"there is no replication slot {slot}: run python -m migrations upgrade")

    def close(self) -> None:
        """Let Postgres clean up again; the connection stays."""
        self.connection.execute("rollback")


@contextmanager
def snapshot(url: str, password: str) -> Iterator[Snapshot]:
    """Hold this moment; everything that is visible in it lies below its log position."""
    address = make_conninfo(url, user="reconciler", password=password)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("set idle_in_transaction_session_timeout = 0")  # Spark reads elsewhere meanwhile
        connection.execute("begin isolation level repeatable read, read only")
        query = "select pg_export_snapshot(), pg_current_wal_insert_lsn()::text"
        for name, lsn in connection.execute(query):
            yield Snapshot(connection, name, lsn)


def read_all(spark: SparkSession, fulfillment: Snapshot, audit: Snapshot) -> dict[str, DataFrame]:
    """Every table that is compared; both outboxes as one."""
    tables = {name: fulfillment.read(spark, query) for name, query in FULFILLMENT.items()}
    tables["audit_entry"] = audit.read(spark, AUDIT_ENTRY)
    tables["outbox"] = fulfillment.read(spark, OUTBOX).unionByName(audit.read(spark, OUTBOX))
    return tables
