"""A small world after the service: orders with all that belongs to them, as the jobs read it."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from contract.events import ACCEPTED, EVENTS, REASONS, REJECTED, Event
from contract.names import (
    AUDIT_TOPIC,
    DATABASE,
    DEAD_LETTER_TOPIC,
    INPUT_TOPIC,
    OTHER_OUTBOXES,
    SUBSCRIBER,
)
from spark.hops import Hop, make_hops, union_hops
from spark.judging import outcome
from spark.lake.landed_tables import SCHEMA
from spark.lake.losses import Loss
from spark.parts import Part
from spark.rows import frames
from spark.rows.retired import remember_retired
from spark.rows.retired_landed import SUMS_SCHEMA, Retired, set_apart
from spark.session import make_frame, make_once
from spark.settings import Settings
from spark.topics import topics_to_land

Row = dict[str, Any]

[FULFILLMENTS] = [event.topic for event in EVENTS if event.outcome == ACCEPTED]
[REJECTIONS] = [event.topic for event in EVENTS if event.outcome == REJECTED]

SCHEMAS = {
    "landed": SCHEMA,
    "tracking": """message_id string, source string, topic string, position string, partition int,
        offset bigint, sha256 string, marked boolean, audit_error string,
        handled_at timestamp, audit_source string, written_by bigint""",
    "fulfillment": """message_id string, source string, sha256 string, order_id string,
        compared string, problem string, written_by bigint""",
    "rejection": """message_id string, source string, sha256 string, order_id string,
        reason string, fulfilled_by string, problem string, written_by bigint""",
    "dead_letter": """topic string, position string, source string, letter string,
        is_own boolean, written_by bigint""",
    "outbox": """event_id string, event_type string, topic string, key string, sha256 string,
        source string, message_id string, order_id string, reason string, fulfilled_by string,
        value_sha256 string, audit_entry_id string, occurred_at timestamp, letter string,
        outcome string, compared string, audited string, written_by bigint""",
    "audit_entry": """audit_entry_id string, idempotency_key string, message_id string,
        source string, audited string, compared string, written_by bigint""",
    "ledger": frames.LEDGER_SCHEMA,
    "dropped": "message_id string, sha256 string",
    "parked": "position string, source string",
    "audit_failure": "message_id string, audit_error string, is_refused boolean",
    "forgotten": "place string, contents string",
    "forgotten_range": "topic string, partition int, start bigint, stop bigint",
    "noted": SUMS_SCHEMA,
    "retired_entry": "place string, contents string",
    "retired_entry_range": "topic string, partition int, start bigint, stop bigint",
    "retired_letter": "place string, contents string",
    "retired_letter_range": """subscriber string, topic string, partition int, start bigint,
        stop bigint, is_own boolean""",
    "retired": """topic string, source string, written_before bigint, contents string,
        database string""",
}
OUTCOMES = {event.event_type: event.outcome for event in EVENTS}
TYPES = {event.topic: event.event_type for event in EVENTS}
WRITTEN_AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
DECIDING = [event for event in EVENTS if event.outcome]  # those that follow are a test's own
NEXT_TRANSACTION = 1000  # after all that have written rows
SETTLED, LAGGING = 0, 1  # partitions: all of the first is committed, nothing of the second


def as_frame(spark: SparkSession, rows: Sequence[Row], schema: str) -> DataFrame:
    """Return the rows of a table as the jobs would read them."""
    columns = cast("StructType", StructType.fromDDL(schema)).names
    values = [[as_json(row.get(column)) for column in columns] for row in rows]
    return make_frame(spark, values, schema)


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: bytes in base64, a header as an object."""
    match value:
        case bytes():
            return b64encode(value).decode()
        case Decimal():
            return int(value)
        case [*headers]:
            return [{"key": key, "value": as_json(each)} for key, each in headers]
        case _:
            return value


@dataclass
class World:
    """Every table, row by row; a test takes some away, adds some or changes some."""

    input_topic: str = INPUT_TOPIC
    events: Sequence[Event] = tuple(DECIDING)
    part: Part = field(default_factory=Part)
    part_schemas: Mapping[str, str] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(init=False)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)  # that somebody has accepted
    stops: dict[tuple[str, int], int] = field(default_factory=dict)  # of what is retired
    transaction: int = 0  # the latest that rejected a message
    is_tracked: bool = True  # the dedup store keeps a row for each message

    def __post_init__(self) -> None:
        """Begin with empty tables."""
        self.tables = {name: [] for name in [*SCHEMAS, *self.part_schemas]}

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
                "timestamp": WRITTEN_AT,
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
        **headers: str,
    ) -> str:
        """An order record, and its line in the ledger where something is expected of it."""
        headers["message_id"] = message_id
        position = self.record(self.input_topic, f"o-{message_id}", value, headers, partition)
        if expected:
            self.tables["ledger"].append(
                {
                    "topic": self.input_topic,
                    "partition": partition,
                    "offset": int(position.rsplit("/", 1)[1]),
                    "value_sha256": sha256(value).hexdigest(),
                    "message_id": message_id,
                    "expected": expected,
                }
            )
        return position

    def publish(self, event_id: str, topic: str, key: str, payload: Row, **values: str) -> None:
        """An outbox row, and its event on the topic."""
        value = json.dumps(payload).encode()
        source = (
            f"record {key}"
            if topic == DEAD_LETTER_TOPIC
            else f"message {payload.get('message_id')}"
        )
        event_type = values.get("event_type") or TYPES.get(topic, topic)
        row: Row = dict.fromkeys(column.split()[0] for column in SCHEMAS["outbox"].split(","))
        row |= {name: text for name, text in payload.items() if name in row}
        row |= {
            "event_id": event_id,
            "topic": topic,
            "key": key,
            "source": source,
            "event_type": event_type,
            "outcome": OUTCOMES.get(event_type),
            "occurred_at": WRITTEN_AT,
        }
        self.tables["outbox"].append({**row, "sha256": sha256(value).hexdigest(), **values})
        self.record(topic, key, value, {"id": event_id, "event_type": event_type})

    def track(self, message_id: str, position: str, value: bytes = b"an order") -> None:
        """A tracking row, audited."""
        topic, partition, offset = position.split("/")
        row: Row = {"topic": topic, "partition": int(partition), "offset": int(offset)}
        row |= {
            "position": position,
            "message_id": message_id,
            "source": f"message {message_id}",
            "sha256": sha256(value).hexdigest(),
        }
        row |= {"marked": True, "audit_error": None, "audit_source": row["source"]}
        row["handled_at"] = WRITTEN_AT
        self.tables["tracking"].append(row)

    def audit(self, message_id: str, order_id: str, key: str, body: str) -> None:
        """An audit entry with its event."""
        row = {
            "audit_entry_id": f"entry-{key}",
            "message_id": message_id,
            "compared": f"entry {key}",
        }
        entry = {"idempotency_key": key, "source": f"message {message_id}", "audited": body}
        self.tables["audit_entry"].append({**row, **entry})
        payload = {**row, "idempotency_key": key, "body_sha256": sha256(body.encode()).hexdigest()}
        self.publish(f"audit-event-{key}", AUDIT_TOPIC, order_id, payload)

    def park(self, position: str) -> None:
        """A record that waits behind a dead letter of its key."""
        self.tables["parked"].append({"position": position, "source": f"record {position}"})

    def fulfill(self, message_id: str, partition: int = SETTLED, *, is_audited: bool = True) -> str:
        """An order that went all the way; its position."""
        order_id, compared = f"o-{message_id}", f"24.20 for {message_id}"
        position = self.order(message_id, partition=partition, expected=ACCEPTED)
        self.track(message_id, position)
        row = {"message_id": message_id, "order_id": order_id}
        self.tables["fulfillment"].append(
            {
                **row,
                "source": f"message {message_id}",
                "compared": compared,
                "sha256": sha256(b"an order").hexdigest(),
            }
        )
        payload = {**row, "total": "24.20"}
        values = {"compared": compared, "audited": compared}
        self.publish(f"event-{message_id}", FULFILLMENTS, order_id, payload, **values)
        if is_audited:
            self.audit(message_id, order_id, f"key-{message_id}", compared)
        return position

    def reject(
        self, message_id: str, fulfilled_by: str | None, reason: str | None = REASONS[0]
    ) -> str:
        """A rejection, by default for an order that another message has won; its position."""
        order_id, body = f"o-{fulfilled_by or message_id}", f"no {message_id}"
        position = self.order(message_id, expected=REJECTED)
        self.track(message_id, position)
        payload = {"message_id": message_id, "order_id": order_id, "reason": reason}
        payload["fulfilled_by"] = fulfilled_by
        self.publish(f"event-{message_id}", REJECTIONS, order_id, payload, audited=body)
        self.transaction += 1
        written = {"source": f"message {message_id}", "written_by": self.transaction}
        written["sha256"] = sha256(b"an order").hexdigest()
        self.tables["rejection"].append({**payload, **written})
        self.find("outbox", event_id=f"event-{message_id}")["written_by"] = self.transaction
        self.audit(message_id, order_id, f"key-{message_id}", body)
        return position

    def bury(self, position: str, value: bytes = b"poison", subscriber: str = "") -> None:
        """A dead letter for the record at a position, ours or another's, with its event."""
        topic, *_ = position.split("/")
        letter = f"{position}/{subscriber}" if subscriber else position
        row = {"topic": topic, "position": position, "source": f"record {position}"}
        self.tables["dead_letter"].append({**row, "letter": letter, "is_own": not subscriber})
        payload = {"value_sha256": sha256(value).hexdigest(), "letter": letter, "kind": "invalid"}
        payload["subscriber"] = subscriber or SUBSCRIBER
        self.publish(f"event-{letter}", DEAD_LETTER_TOPIC, position, payload)

    def forget(self, *message_ids: str) -> str:
        """Delete tracking rows of one partition as `pipeline forget` does; the partition."""
        digest = 0
        for message_id in message_ids:
            row = self.find("tracking", message_id=message_id)
            self.tables["tracking"].remove(row)
            content = f"{row['offset']} {message_id} {row['sha256']}"
            digest += int(sha256(content.encode()).hexdigest()[:15], 16)
            of_range = {"start": row["offset"], "stop": row["offset"] + 1}
            at = {"topic": row["topic"], "partition": row["partition"]}
            self.tables["forgotten_range"].append(at | of_range)
        place = f"{row['topic']}/{row['partition']}"
        contents = f"{len(message_ids)} messages, digest {digest}"
        self.tables["forgotten"].append({"place": place, "contents": contents})
        return place

    def retire(self, topic: str, *event_ids: str) -> None:
        """Delete outbox rows of one topic as `pipeline retention` does."""
        digest = 0
        for event_id in event_ids:
            row = self.find("outbox", event_id=event_id, topic=topic)
            self.tables["outbox"].remove(row)
            content = f"{event_id} {row['key']} {row['sha256']}"
            digest += int(sha256(content.encode()).hexdigest()[:15], 16)
        self.tables["retired"].append(
            {
                "topic": topic,
                "written_before": NEXT_TRANSACTION,
                "contents": f"{len(event_ids)} events, digest {digest}",
                "database": OTHER_OUTBOXES.get(topic, DATABASE),
            }
        )

    def retire_entries(self, *keys: str) -> str:
        """Delete audit entries as `pipeline retention` does; the partition of their events."""
        digest = 0
        for key in keys:
            row = self.find("audit_entry", idempotency_key=key)
            self.tables["audit_entry"].remove(row)
            event = self.landed_event(f"audit-event-{key}")
            body = json.loads(event["value"])
            offset = event["offset"]
            content = f"{offset} {key} {body['audit_entry_id']} {body['body_sha256']}"
            digest += int(sha256(content.encode()).hexdigest()[:15], 16)
            at = {"topic": event["topic"], "partition": event["partition"]}
            self.tables["retired_entry_range"].append(at | {"start": offset, "stop": offset + 1})
        place = f"{event['topic']}/{event['partition']}"
        contents = f"{len(keys)} entries, digest {digest}"
        self.tables["retired_entry"].append({"place": place, "contents": contents})
        return place

    def retire_letters(self, *letters: str) -> str:
        """Delete dead letters of one partition as `pipeline retention` does; the partition."""
        digest = 0
        for letter in letters:
            self.remove("dead_letter", letter=letter)
            topic, partition, offset = letter.split("/")
            digest += int(sha256(f"{offset} invalid".encode()).hexdigest()[:15], 16)
            at = {"topic": topic, "partition": int(partition), "subscriber": SUBSCRIBER}
            of_range = {"start": int(offset), "stop": int(offset) + 1, "is_own": True}
            self.tables["retired_letter_range"].append(at | of_range)
        place = f"{topic}/{partition}"
        contents = f"{len(letters)} letters, digest {digest}"
        self.tables["retired_letter"].append({"place": place, "contents": contents})
        return place

    def retire_landed(self, *message_ids: str) -> None:
        """Delete what landed of these messages as `pipeline retention` does: their rows go last."""
        sums: dict[tuple[str, str], list[int]] = {}

        def note(kind: str, id_: str, content: str) -> None:
            digest = int(sha256(content.encode()).hexdigest()[:15], 16)
            sums.setdefault((kind, id_), []).append(digest)

        for message_id in message_ids:
            note("message", "messages", message_id)
            header = ("message_id", message_id.encode())
            [record] = [row for row in self.tables["landed"] if header in row["headers"]]
            value = sha256(record["value"]).hexdigest()
            place = f"{record['topic']}/{record['partition']}"
            note("forgotten", place, f"{record['offset']} {message_id} {value}")
            entry = self.landed_event(f"audit-event-key-{message_id}")
            body = json.loads(entry["value"])
            key, id_ = f"key-{message_id}", body["audit_entry_id"]
            place = f"{entry['topic']}/{entry['partition']}"
            note("entry", place, f"{entry['offset']} {key} {id_} {body['body_sha256']}")
            event = self.landed_event(f"event-{message_id}")
            for row in (event, entry):
                event_id = dict(row["headers"])["id"].decode()
                value = sha256(row["value"]).hexdigest()
                note("event", row["topic"], f"{event_id} {row['key'].decode()} {value}")
            for row in (record, event, entry):
                self.tables["landed"].remove(row)
                at = (row["topic"], row["partition"])
                self.stops[at] = max(self.stops.get(at, 0), row["offset"] + 1)
        for loss in self.losses:  # each of them forgotten, and of one offset
            if loss.first < self.stops[loss.topic, loss.partition]:
                place = f"{loss.topic}/{loss.partition}"
                note("lost", place, f"{place}/{loss.first}")
        for (kind, id_), digests in sums.items():
            digest = Decimal(sum(digests))
            row = {"kind": kind, "id": id_, "rows": len(digests), "digest": digest}
            self.tables["noted"].append(row)

    def find(self, table: str, **wanted: Any) -> Row:
        """The one row with these values."""
        [row] = [row for row in self.tables[table] if wanted.items() <= row.items()]
        return row

    def landed_event(self, event_id: str) -> Row:
        """The one landed record with this event id."""
        header = ("id", event_id.encode())
        [row] = [row for row in self.tables["landed"] if header in row["headers"]]
        return row

    def remove(self, table: str, **wanted: Any) -> None:
        """Take away the one row with these values."""
        self.tables[table].remove(self.find(table, **wanted))

    def unpublish(self, topic: str) -> None:
        """Take the last event off a topic, as if Connect had not come to it yet."""
        self.ends[topic, SETTLED] -= 1
        self.remove("landed", topic=topic, partition=SETTLED, offset=self.ends[topic, SETTLED])

    def judged(self, spark: SparkSession, not_settled: Sequence[str] = ()) -> DataFrame:
        """What reconciliation makes of it, id by id."""
        rows, open_source = (make_once(frame, 0) for frame in self.rows_of_hops(spark))
        return outcome.judge(rows, open_source, not_settled)

    def rows_of_hops(self, spark: SparkSession) -> tuple[DataFrame, DataFrame]:
        """The rows of all hops, and the sources that cannot be judged yet."""
        held, hops, open_source = self.frames_of_hops(spark)
        return union_hops(held, hops), open_source

    def frames_of_hops(
        self, spark: SparkSession
    ) -> tuple[dict[str, DataFrame], list[Hop], DataFrame]:
        """All frames, the hops between them, and the sources that cannot be judged yet."""
        schemas = {**SCHEMAS, **self.part_schemas}
        given: dict[str, DataFrame] = {}
        for name, table in self.tables.items():
            frame = as_frame(spark, table, schemas[name])
            # As a run does: it keeps what it has read, and plans nothing for a table without rows.
            given[name] = frame.persist() if table else frame
        further = Part(event_topics=tuple(event.topic for event in self.events))
        settings = Settings(input_topic=self.input_topic)
        topics = topics_to_land(settings, [self.part, further])
        ends = {position: range(end) for position, end in self.ends.items()}
        retired = Retired(self.stops, NEXT_TRANSACTION, given["noted"])
        current = retired.clip_extent(ends)
        ledger = {"ledger": given["ledger"]}
        held = given | {
            "landed": frames.identify_landed(given["landed"], current, topics),
            "ledger": frames.query(frames.STATEMENTS["ledger"], ledger),
            "expected_offset": frames.expected_offsets(spark, current),
            "lost_offset": frames.lost_offsets(spark, retired.clip(self.losses)),
        }
        if not self.is_tracked:
            held["tracking"] = frames.remember_handled(held)
        held |= frames.remember_forgotten(held)
        held |= remember_retired(held, given["landed"])
        held |= set_apart(held, retired)
        committed = {SETTLED: self.ends[self.input_topic, SETTLED]}
        open_source = frames.open_sources(held, topics, committed)
        hops = [*make_hops(self.input_topic, self.events), *self.part.hops]
        return held | frames.derive_frames(held, [self.part]), hops, open_source
