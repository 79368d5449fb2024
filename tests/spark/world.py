"""A small world after the service: orders with everything that belongs to them, as the jobs read it."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark import sources
from spark.hops import all_hops
from spark.land import SCHEMA
from spark.outcome import JUDGED

Row = dict[str, Any]

ORDERS = "order.events"
FULFILLMENTS = "fulfillment.events"
REJECTIONS = "rejection.events"
DEAD_LETTERS = "dead-letter.events"

SCHEMAS = {
    "landed": SCHEMA,
    "tracking": """message_id string, source string, position string, partition int, offset bigint,
        sha256 string, marked boolean, audit_error string""",
    "fulfillment": "message_id string, source string, order_id string, facts string",
    "dead_letter": "position string, source string",
    "outbox": """event_id string, topic string, key string, sha256 string, source string, message_id string,
        order_id string, fulfilled_by string, value_sha256 string, audit_entry_id string, outcome string,
        facts string, audit string""",
    "audit_entry": """audit_entry_id string, idempotency_key string, message_id string, source string,
        audit string, facts string""",
    "ledger": sources.LEDGER,
    "batch": "kind string, place string, offset bigint, event_id string, facts string",
}
OUTCOMES = {FULFILLMENTS: "fulfilled", REJECTIONS: "rejected"}
SETTLED, LAGGING = 0, 1  # partitions: all of the first is committed, nothing of the second


@dataclass
class World:
    """Every table, row by row; a test takes some away, adds some or changes some."""

    tables: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in SCHEMAS})
    ends: dict[tuple[str, int], int] = field(default_factory=dict)

    def record(
        self, topic: str, key: str, value: bytes | None, headers: Row, partition: int = SETTLED
    ) -> str:
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

    def order(
        self,
        message_id: str,
        value: bytes = b"an order",
        partition: int = SETTLED,
        expected: str = "",
    ) -> str:
        """An order record, and its line in the ledger where something is expected of it."""
        position = self.record(
            ORDERS, f"o-{message_id}", value, {"message_id": message_id}, partition
        )
        if expected:
            self.tables["ledger"].append(
                {
                    "topic": ORDERS,
                    "partition": partition,
                    "offset": int(position.rsplit("/", 1)[1]),
                    "value_sha256": sha256(value).hexdigest(),
                    "message_id": message_id,
                    "expected": expected,
                }
            )
        return position

    def publish(self, event_id: str, topic: str, key: str, payload: Row, **facts: str) -> None:
        """An outbox row, and its event on the topic."""
        value = json.dumps(payload).encode()
        source = (
            f"record {key}" if topic == DEAD_LETTERS else f"message {payload.get('message_id')}"
        )
        row: Row = dict.fromkeys(column.split()[0] for column in SCHEMAS["outbox"].split(","))
        row |= {name: text for name, text in payload.items() if name in row}
        row |= {
            "event_id": event_id,
            "topic": topic,
            "key": key,
            "source": source,
            "outcome": OUTCOMES.get(topic),
        }
        self.tables["outbox"].append({**row, "sha256": sha256(value).hexdigest(), **facts})
        self.record(topic, key, value, {"id": event_id})

    def track(self, message_id: str, position: str, value: bytes = b"an order") -> None:
        """A tracking row, audited."""
        _, partition, offset = position.split("/")
        row: Row = {"position": position, "partition": int(partition), "offset": int(offset)}
        row |= {
            "message_id": message_id,
            "source": f"message {message_id}",
            "sha256": sha256(value).hexdigest(),
        }
        self.tables["tracking"].append({**row, "marked": True, "audit_error": None})

    def audit(self, message_id: str, order_id: str, key: str, body: str) -> None:
        """An audit entry with its event."""
        row = {"audit_entry_id": f"entry-{key}", "message_id": message_id, "facts": f"entry {key}"}
        entry = {"idempotency_key": key, "source": f"message {message_id}", "audit": body}
        self.tables["audit_entry"].append({**row, **entry})
        self.publish(f"audit-event-{key}", "audit.events", order_id, row)

    def fulfill(self, message_id: str, partition: int = SETTLED) -> str:
        """An order that went all the way; its position."""
        order_id, facts = f"o-{message_id}", f"24.20 for {message_id}"
        position = self.order(message_id, partition=partition, expected="fulfilled")
        self.track(message_id, position)
        row = {"message_id": message_id, "order_id": order_id}
        self.tables["fulfillment"].append(
            {**row, "source": f"message {message_id}", "facts": facts}
        )
        payload = {**row, "total": "24.20"}
        self.publish(
            f"event-{message_id}", FULFILLMENTS, order_id, payload, facts=facts, audit=facts
        )
        self.audit(message_id, order_id, f"key-{message_id}", facts)
        return position

    def reject(self, message_id: str, fulfilled_by: str) -> str:
        """A second message for an order that is fulfilled already; its position."""
        order_id, body = f"o-{fulfilled_by}", f"no {message_id}"
        position = self.order(message_id, expected="rejected")
        self.track(message_id, position)
        payload = {"message_id": message_id, "order_id": order_id, "fulfilled_by": fulfilled_by}
        self.publish(f"event-{message_id}", REJECTIONS, order_id, payload, audit=body)
        self.audit(message_id, order_id, f"key-{message_id}", body)
        return position

    def bury(self, position: str, value: bytes = b"poison") -> None:
        """A dead letter for the record at a position, with its event."""
        self.tables["dead_letter"].append({"position": position, "source": f"record {position}"})
        payload = {"value_sha256": sha256(value).hexdigest()}
        self.publish(f"event-{position}", DEAD_LETTERS, position, payload)

    def find(self, table: str, **wanted: Any) -> Row:
        """The one row with these values."""
        [row] = [row for row in self.tables[table] if wanted.items() <= row.items()]
        return row

    def remove(self, table: str, **wanted: Any) -> None:
        """Take away the one row with these values."""
        self.tables[table].remove(self.find(table, **wanted))

    def judged(self, spark: SparkSession) -> DataFrame:
        """What reconciliation makes of it."""
        frames = {
            name: spark.createDataFrame(rows, SCHEMAS[name]) for name, rows in self.tables.items()
        }
        there = {at: range(end) for at, end in self.ends.items()}
        handled = {SETTLED: self.ends[ORDERS, SETTLED]}
        held = frames | {
            "landed": sources.landed_records(frames["landed"], there),
            "ledger": sources.query(sources.ACKNOWLEDGED, {"ledger": frames["ledger"]}),
            "expected": sources.offsets_between(spark, there),
        }
        late = sources.query(sources.LATE, held, committed=json.dumps(handled))
        return sources.query(JUDGED, {"hops": all_hops(held), "late": late})
