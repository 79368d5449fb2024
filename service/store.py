"""What a batch writes: tracking, fulfillment, dead letters and outbox in one statement, one transaction."""

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Engine, text

from service.database import sorted_errors
from service.dead_letter import DeadLetter, payload
from service.ids import derive, traceparent
from service.message import Message
from service.order import total

Item = Message | DeadLetter


class Handled(NamedTuple):
    """What the database knows of a message, whoever handled it."""

    value_sha256: str
    outcome: Literal["fulfilled", "rejected"]
    audited: bool
    first: bool  # handled just now, by this statement


# Insert first, ask never: who was first is decided by the primary key of tracking. Each insert sorts by its
# own unique key, so that two workers with the same messages wait for each other instead of deadlocking.
# An order that somebody else fulfilled is looked up by a function with a snapshot of its own.
WRITE = text("""
    with message as materialized (
        select * from json_to_recordset(cast(:messages as json)) as m (
            n int, message_id text, value_sha256 bytea, topic text, partition int, "offset" bigint,
            order_id text, fulfillment_id uuid, customer_id text, placed_at text, lines json, total text,
            event_id uuid, traceparent text)
    ), letter as materialized (
        select * from json_to_recordset(cast(:dead_letters as json)) as l (
            n int, topic text, partition int, "offset" bigint, kind text, reason text, payload json,
            event_id uuid, traceparent text)
    ), tracked as (
        insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
        select :subscriber, message_id, value_sha256, topic, partition, "offset"
        from message order by message_id
        on conflict do nothing
        returning message_id
    ), fulfilled as (
        insert into fulfillment (order_id, fulfillment_id, message_id, customer_id, placed_at, lines, total)
        select order_id, fulfillment_id, message_id, customer_id, cast(placed_at as timestamptz), lines,
               cast(total as numeric)
        from message join tracked using (message_id) order by order_id, n
        on conflict do nothing
        returning message_id
    ), buried as (
        insert into dead_letter (topic, partition, "offset", kind, reason)
        select topic, partition, "offset", kind, reason from letter order by topic, partition, "offset"
        on conflict do nothing
        returning topic, partition, "offset"
    ), decided as materialized (
        select m.*, coalesce(f.message_id, fulfilled_by(m.order_id)) as fulfilled_by
        from message m join tracked using (message_id) left join fulfilled f using (message_id)
    ), event as (
        select n, event_id, 'fulfillment' as aggregate_type, order_id as aggregate_id,
               'order-fulfilled' as event_type, traceparent,
               json_build_object('message_id', message_id, 'order_id', order_id,
                   'fulfillment_id', fulfillment_id, 'customer_id', customer_id, 'placed_at', placed_at,
                   'lines', lines, 'total', total) as payload
        from decided where fulfilled_by = message_id
        union all
        select n, event_id, 'rejection', order_id, 'order-rejected', traceparent,
               json_build_object('message_id', message_id, 'order_id', order_id,
                   'reason', 'already_fulfilled', 'fulfilled_by', fulfilled_by)
        from decided where fulfilled_by <> message_id
        union all
        select n, event_id, 'dead-letter', concat_ws('/', topic, partition, "offset"),
               'record-dead-lettered', traceparent, payload
        from letter join buried using (topic, partition, "offset")
    ), published as (
        insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
        select event_id, aggregate_type, aggregate_id, event_type, traceparent, payload from event order by n
        on conflict do nothing
    )
    select message_id, fulfilled_by = message_id as fulfilled from decided
""")

# The statement above cannot see what the worker that it waited for has committed; this one can.
KNOWN = text("""
    select t.message_id, encode(t.value_sha256, 'hex') as value_sha256,
           t.audited_at is not null or t.audit_error is not null as audited,
           f.message_id is not null as fulfilled
    from tracking t
    left join fulfillment f on f.order_id = any(:order_ids) and f.message_id = t.message_id
    where t.subscriber = :subscriber and t.message_id = any(:message_ids)
""")


def write(engine: Engine, subscriber: str, items: Sequence[Item]) -> dict[str, Handled]:
    """Write what is new, and return what is now known of every message of the batch."""
    messages = {item.message_id: item for item in items if isinstance(item, Message)}
    with sorted_errors(), engine.connect() as connection:
        rows = connection.execute(WRITE, {"subscriber": subscriber, **parameters(items)}).all()
        handled = {
            row.message_id: Handled(messages[row.message_id].value_sha256, outcome(row), False, True) for row in rows
        }
        before = [message for key, message in messages.items() if key not in handled]
        return handled | known(connection, subscriber, before) if before else handled


def known(connection: Connection, subscriber: str, messages: list[Message]) -> dict[str, Handled]:
    """What was stored of messages that did not come back as first."""
    wanted = {
        "subscriber": subscriber,
        "message_ids": [message.message_id for message in messages],
        "order_ids": [message.order["order_id"] for message in messages],
    }
    return {
        row.message_id: Handled(row.value_sha256, outcome(row), row.audited, False)
        for row in connection.execute(KNOWN, wanted)
    }


def outcome(row: Any) -> Literal["fulfilled", "rejected"]:
    """In the design's words."""
    return "fulfilled" if row.fulfilled else "rejected"


def parameters(items: Sequence[Item]) -> dict[str, str]:
    """The batch as two JSON arrays: one parameter each, however many rows."""
    messages = [message_row(n, item) for n, item in enumerate(items) if isinstance(item, Message)]
    letters = [letter_row(n, item) for n, item in enumerate(items) if isinstance(item, DeadLetter)]
    return {"messages": compact(messages), "dead_letters": compact(letters)}


def message_row(n: int, message: Message) -> dict[str, Any]:
    """One message, its ids derived from nothing but its message id."""
    event_id = derive("event", message.message_id)
    return {
        "n": n,
        "message_id": message.message_id,
        "value_sha256": f"\\x{message.value_sha256}",
        "topic": message.record.topic,
        "partition": message.record.partition,
        "offset": message.record.offset,
        **message.order,
        "fulfillment_id": derive("fulfillment", message.message_id),
        "total": total(message.order),
        "event_id": event_id,
        "traceparent": traceparent(message.traceparent, event_id),
    }


def letter_row(n: int, letter: DeadLetter) -> dict[str, Any]:
    """One dead letter, its event id derived from the record's position."""
    event_id = derive("dead-letter", letter.record.position)
    return {
        "n": n,
        "topic": letter.record.topic,
        "partition": letter.record.partition,
        "offset": letter.record.offset,
        "kind": letter.kind,
        "reason": letter.reason,
        "payload": payload(letter),
        "event_id": event_id,
        "traceparent": traceparent(None, event_id),
    }


def compact(rows: list[dict[str, Any]]) -> str:
    """JSON without spaces, characters as they are: fewer bytes for PostgreSQL to read."""
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
