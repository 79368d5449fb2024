"""A small world after the service: orders with everything that belongs to them, as the jobs read it."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark import sources
from spark.hops import all_hops
from spark.landing import SCHEMA
from spark.outcome import judge

Row = dict[str, Any]

SCHEMAS = {
    "landed": SCHEMA,
    "tracking": """subscriber string, message_id string, position string, partition int, offset bigint,
        sha256 string, audited boolean, audit_error string""",
    "fulfillment": """message_id string, order_id string, fulfillment_id string, customer_id string,
        total string, lines string""",
    "dead_letter": "position string",
    "outbox": "event_id string, topic string, key string, payload string",
    "audit_entry": """audit_entry_id string, idempotency_key string, message_id string, order_id string,
        outcome string, fulfillment_id string, total string, body_sha256 string""",
    "ledger": sources.LEDGER,
}
LINES = [{"sku": "tea", "quantity": 2, "unit_price": "12.10"}]
SETTLED, LAGGING = 0, 1  # partitions: all of the first is committed, nothing of the second


@dataclass
class World:
    """Every table, row by row; a test takes some away, adds some or changes some."""

    tables: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in SCHEMAS})
    ends: dict[tuple[str, int], int] = field(default_factory=dict)

    def record(self, topic: str, key: str, value: bytes | None, headers: Row, partition: int = SETTLED) -> str:
        """One more landed record; its position."""
        offset = self.ends.get((topic, partition), 0)
        self.ends[topic, partition] = offset + 1
        pairs = [(name, text.encode()) for name, text in headers.items()]
        at = {"topic": topic, "partition": partition, "offset": offset}
        self.tables["landed"].append(
            {
                **at,
                "timestamp": datetime(2026, 11, 21, tzinfo=UTC),
                "key": key.encode(),
                "value": value,
                "headers": pairs,
            }
        )
        return f"{topic}/{partition}/{offset}"

    def order(self, message_id: str, value: bytes = b"an order", partition: int = SETTLED, expected: str = "") -> str:
        """An order record, and its line in the ledger where something is expected of it."""
        position = self.record(sources.ORDERS, f"o-{message_id}", value, {"message_id": message_id}, partition)
        if expected:
            self.tables["ledger"].append(
                {
                    "topic": sources.ORDERS,
                    "partition": partition,
                    "offset": int(position.rsplit("/", 1)[1]),
                    "value_sha256": sha256(value).hexdigest(),
                    "message_id": message_id,
                    "expected": expected,
                }
            )
        return position

    def publish(self, event_id: str, topic: str, key: str, payload: Row) -> None:
        """An outbox row, and its event on the topic."""
        text = json.dumps(payload)
        self.tables["outbox"].append({"event_id": event_id, "topic": topic, "key": key, "payload": text})
        self.record(topic, key, text.encode(), {"id": event_id})

    def track(self, message_id: str, position: str, value: bytes = b"an order") -> None:
        """A tracking row, audited."""
        _, partition, offset = position.split("/")
        at = {"position": position, "partition": int(partition), "offset": int(offset)}
        digest = sha256(value).hexdigest()
        row = {"subscriber": "fulfillment", "message_id": message_id, "sha256": digest, **at}
        self.tables["tracking"].append({**row, "audited": True, "audit_error": None})

    def audit(self, message_id: str, order_id: str, outcome: str, key: str, **facts: str) -> None:
        """An audit entry with its event."""
        event = {"audit_entry_id": f"entry-{key}", "idempotency_key": key, "message_id": message_id}
        event |= {"order_id": order_id, "outcome": outcome, "body_sha256": "ab12"}
        self.tables["audit_entry"].append({"fulfillment_id": None, "total": None, **event, **facts})
        self.publish(f"audit-event-{key}", "audit.events", order_id, event)

    def fulfill(self, message_id: str, partition: int = SETTLED) -> str:
        """An order that went all the way; its position."""
        order_id, fulfillment_id = f"o-{message_id}", f"f-{message_id}"
        position = self.order(message_id, partition=partition, expected="fulfilled")
        facts = {"message_id": message_id, "order_id": order_id, "fulfillment_id": fulfillment_id}
        facts |= {"customer_id": "c-7", "total": "24.20"}
        self.track(message_id, position)
        self.tables["fulfillment"].append({**facts, "lines": json.dumps(LINES, separators=(",", ":"))})
        self.publish(f"event-{message_id}", sources.FULFILLMENTS, order_id, {**facts, "lines": LINES})
        self.audit(message_id, order_id, "fulfilled", f"key-{message_id}", fulfillment_id=fulfillment_id, total="24.20")
        return position

    def reject(self, message_id: str, fulfilled_by: str) -> str:
        """A second message for an order that is fulfilled already; its position."""
        order_id = f"o-{fulfilled_by}"
        position = self.order(message_id, expected="rejected")
        self.track(message_id, position)
        payload = {"message_id": message_id, "order_id": order_id, "fulfilled_by": fulfilled_by}
        self.publish(f"event-{message_id}", sources.REJECTIONS, order_id, payload)
        self.audit(message_id, order_id, "rejected", f"key-{message_id}")
        return position

    def bury(self, position: str, value: bytes = b"poison") -> None:
        """A dead letter for the record at a position, with its event."""
        payload = {"value": base64.b64encode(value).decode(), "value_sha256": sha256(value).hexdigest()}
        self.tables["dead_letter"].append({"position": position})
        self.publish(f"event-{position}", sources.DEAD_LETTERS, position, payload)

    def find(self, table: str, **wanted: Any) -> Row:
        """The one row with these values."""
        [row] = [row for row in self.tables[table] if wanted.items() <= row.items()]
        return row

    def remove(self, table: str, **wanted: Any) -> None:
        """Take away the one row with these values."""
        self.tables[table].remove(self.find(table, **wanted))

    def judged(self, spark: SparkSession) -> DataFrame:
        """What reconciliation makes of it."""
        frames = {name: spark.createDataFrame(rows, SCHEMAS[name]) for name, rows in self.tables.items()}
        there = {at: range(end) for at, end in self.ends.items()}
        handled = {SETTLED: self.ends[sources.ORDERS, SETTLED]}
        prepare: dict[str, Callable[[DataFrame], DataFrame]] = {
            "landed": lambda landed: sources.landed_records(landed, there),
            "tracking": lambda tracking: sources.tracked(tracking, "fulfillment", handled),
            "fulfillment": sources.fulfilled,
            "dead_letter": sources.buried,
            "outbox": sources.published,
            "audit_entry": sources.audited,
            "ledger": sources.acknowledged,
        }
        held = {name: prepare[name](frame) for name, frame in frames.items()}
        held["expected"] = sources.offsets_between(spark, there)
        return judge(all_hops(held), sources.late_sources(held["landed"], held["tracking"], handled))
