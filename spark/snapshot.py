"""What both databases held at one moment each, and whether an outbox slot has passed that moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession

# Each query gives the columns that are compared; `source` is the message or the record behind a row, `facts`
# and `audit` are what an event and its row, an audit entry and what it tells of, must have in common.
FULFILLMENT = {
    "tracking": """select subscriber, message_id, 'message ' || message_id as source, partition, "offset",
        concat_ws('/', topic, partition, "offset") as position, encode(value_sha256, 'hex') as sha256,
        audited_at is not null or audit_error is not null as marked, audit_error from tracking""",
    "fulfillment": """select message_id, 'message ' || message_id as source, order_id,
        jsonb_build_array(fulfillment_id, order_id, customer_id, total::text, lines)::text as facts
        from fulfillment""",
    "dead_letter": """select position, 'record ' || position as source
        from (select concat_ws('/', topic, partition, "offset") as position from dead_letter) as letter""",
}
AUDIT_ENTRY = """select audit_entry_id::text, idempotency_key, message_id, 'message ' || message_id as source,
    jsonb_build_array(outcome, order_id, fulfillment_id, total::text)::text as audit,
    jsonb_build_array(idempotency_key, message_id, order_id, outcome, encode(body_sha256, 'hex'))::text as facts
    from audit_entry"""
OUTBOX = """select event_id::text, topic, key, encode(sha256(convert_to(payload::text, 'UTF8')), 'hex') as sha256,
    case aggregate_type when 'dead-letter' then 'record ' || key else 'message ' || message_id end as source,
    message_id, payload->>'order_id' as order_id, payload->>'fulfilled_by' as fulfilled_by,
    payload->>'value_sha256' as value_sha256, payload->>'audit_entry_id' as audit_entry_id, outcome,
    case aggregate_type when 'fulfillment' then jsonb_build_array(payload->'fulfillment_id', payload->'order_id',
        payload->'customer_id', payload->'total', payload->'lines')::text
    when 'audit' then jsonb_build_array(payload->'idempotency_key', payload->'message_id', payload->'order_id',
        payload->'outcome', payload->'body_sha256')::text end as facts,
    jsonb_build_array(outcome, payload->'order_id', payload->'fulfillment_id', payload->'total')::text as audit
    from (select *, aggregate_type || '.events' as topic, aggregate_id as key, payload->>'message_id' as message_id,
        case aggregate_type when 'fulfillment' then 'fulfilled' when 'rejection' then 'rejected' end as outcome
        from outbox) as event"""


class Snapshot(NamedTuple):
    """One moment of one database, which Spark's own connections share until it is closed."""

    connection: psycopg.Connection
    name: str
    lsn: str

    def read(self, spark: SparkSession, query: str) -> DataFrame:
        """The rows of a query at this moment; once the snapshot is closed, reading fails loudly."""
        at = self.connection.info
        share = f"set transaction isolation level repeatable read; set transaction snapshot '{self.name}'"
        options = {"driver": "org.postgresql.Driver", "query": query, "sessionInitStatement": share}
        address = {"url": f"jdbc:postgresql://{at.host}:{at.port}/{at.dbname}"}
        login = {"user": at.user, "password": at.password}
        return spark.read.format("jdbc").options(**options, **address, **login, fetchsize=10_000).load()

    def behind(self, slot: str) -> str:
        """A sentence while the slot's reader has not confirmed everything up to this moment."""
        query = """select pg_wal_lsn_diff(%s, confirmed_flush_lsn)::bigint from pg_replication_slots
            where slot_name = %s"""
        for (left,) in self.connection.execute(query, (self.lsn, slot)):
            return f"slot {slot} is {left} bytes behind: is its connector running?" if left > 0 else ""
        raise LookupError(f"there is no replication slot {slot}: run python -m migrations upgrade")


@contextmanager
def snapshot(url: str, password: str) -> Iterator[Snapshot]:
    """Hold this moment; everything that is visible in it lies below its log position."""
    address = make_conninfo(url, user="reconciler", password=password)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("set idle_in_transaction_session_timeout = 0")  # Spark reads elsewhere meanwhile
        connection.execute("begin isolation level repeatable read, read only")
        for name, lsn in connection.execute("select pg_export_snapshot(), pg_current_wal_insert_lsn()::text"):
            yield Snapshot(connection, name, lsn)


def read_all(spark: SparkSession, fulfillment: Snapshot, audit: Snapshot) -> dict[str, DataFrame]:
    """Every table that is compared; both outboxes as one."""
    tables = {name: fulfillment.read(spark, query) for name, query in FULFILLMENT.items()}
    tables["audit_entry"] = audit.read(spark, AUDIT_ENTRY)
    tables["outbox"] = fulfillment.read(spark, OUTBOX).unionByName(audit.read(spark, OUTBOX))
    return tables
