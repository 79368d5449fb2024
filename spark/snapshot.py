"""What both databases held at one moment each, and whether an outbox slot has passed that moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

# Each query gives the columns that are compared; `source` is the message or the record behind a row, `facts`
# and `audit` are what an event and its row, an audit entry and what it tells of, must have in common.
TRACKING = """select subscriber, message_id, 'message ' || message_id as source, partition, "offset",
    concat_ws('/', topic, partition, "offset") as position, encode(value_sha256, 'hex') as sha256,
    audited_at is not null or audit_error is not null as marked, audit_error from tracking"""
FULFILLMENT = """select message_id, 'message ' || message_id as source, order_id,
    jsonb_build_array(fulfillment_id, order_id, customer_id, total::text, lines)::text as facts from fulfillment"""
DEAD_LETTER = """select concat_ws('/', topic, partition, "offset") as position,
    concat_ws('/', 'record ' || topic, partition, "offset") as source from dead_letter"""
AUDIT_ENTRY = """select audit_entry_id::text, idempotency_key, message_id, 'message ' || message_id as source,
    jsonb_build_array(outcome, order_id, fulfillment_id, total::text)::text as audit,
    jsonb_build_array(idempotency_key, message_id, order_id, outcome, encode(body_sha256, 'hex'))::text as facts
    from audit_entry"""
OUTBOX = """select event_id::text, aggregate_type || '.events' as topic, aggregate_id as key, message_id, order_id,
    fulfilled_by, value_sha256, audit_entry_id, decided as outcome,
    encode(sha256(convert_to(payload::text, 'UTF8')), 'hex') as sha256,
    coalesce('message ' || message_id, 'record ' || aggregate_id) as source,
    jsonb_build_array(decided, order_id, fulfillment_id, total)::text as audit,
    case aggregate_type when 'fulfillment' then jsonb_build_array(fulfillment_id, order_id, customer_id, total, lines)
        when 'audit' then jsonb_build_array(idempotency_key, message_id, order_id, outcome, body_sha256)
    end::text as facts
    from outbox cross join json_to_record(payload) as event(message_id text, order_id text, fulfilled_by text,
        value_sha256 text, audit_entry_id text, outcome text, idempotency_key jsonb, body_sha256 jsonb,
        fulfillment_id jsonb, customer_id jsonb, total jsonb, lines jsonb)
    left join (values ('fulfillment', 'fulfilled'), ('rejection', 'rejected')) as decision(kind, decided)
        on kind = aggregate_type"""

TABLES = {
    "fulfillment": FULFILLMENT,
    "dead_letter": DEAD_LETTER,
}  # further ones of the same database


class Snapshot(NamedTuple):
    """One moment of one database, which Spark's own connections share until it is closed."""

    connection: psycopg.Connection
    slot: str
    name: str
    lsn: str

    def read(self, spark: SparkSession, query: str) -> DataFrame:
        """The rows of a query at this moment; once the snapshot is closed, reading fails loudly."""
        at = self.connection.info
        url = f"jdbc:postgresql://{at.host}:{at.port}/{at.dbname}"
        share = f"set transaction isolation level repeatable read; set transaction snapshot '{self.name}'"
        jdbc = spark.read.format("jdbc").options(
            url=url, user=at.user, password=at.password, fetchsize=10_000
        )
        return jdbc.options(
            driver="org.postgresql.Driver", sessionInitStatement=share, query=query
        ).load()

    def behind(self) -> str:
        """A sentence while the slot's reader has not confirmed everything up to this moment."""
        query = "select pg_wal_lsn_diff(%s, confirmed_flush_lsn)::bigint from pg_replication_slots where slot_name = %s"
        for (left,) in self.connection.execute(query, (self.lsn, self.slot)):
            return (
                f"slot {self.slot} is {left} bytes behind: is its connector running?"
                if left > 0
                else ""
            )
        raise LookupError(
            f"there is no replication slot {self.slot}: run python -m migrations upgrade"
        )


@contextmanager
def at_one_moment(url: str, slot: str, password_file: Path) -> Iterator[Snapshot]:
    """Hold this moment; everything that is visible in it lies below its log position."""
    address = make_conninfo(url, user="reconciler", password=password_file.read_text().strip())
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "set idle_in_transaction_session_timeout = 0"
        )  # Spark reads elsewhere meanwhile
        connection.execute("begin isolation level repeatable read, read only")
        for name, lsn in connection.execute(
            "select pg_export_snapshot(), pg_current_wal_insert_lsn()::text"
        ):
            yield Snapshot(connection, slot, name, lsn)


def read_all(
    spark: SparkSession, subscriber: str, fulfillment: Snapshot, audit: Snapshot
) -> dict[str, DataFrame]:
    """Every table that is compared; both outboxes as one."""
    return {
        "tracking": fulfillment.read(spark, TRACKING).where(F.col("subscriber") == subscriber),
        "outbox": fulfillment.read(spark, OUTBOX).union(audit.read(spark, OUTBOX)),
        "audit_entry": audit.read(spark, AUDIT_ENTRY),
        **{name: fulfillment.read(spark, text) for name, text in TABLES.items()},
    }
