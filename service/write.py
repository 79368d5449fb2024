"""What a batch writes: tracking, fulfillment, dead letters and outbox in one statement, one transaction."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Engine, TextClause, text

from service.database import classify_errors
from service.dedup import Handled
from service.ids import derive, traceparent
from service.record import DeadLetter, Item, Message, payload

Answers = dict[
    str, str | None
]  # message id -> None, or why the audit receiver refused its entry for good


# Which messages are fresh is the dedup store's part. Each insert sorts by its own unique key, so that two workers
# with the same messages wait for each other instead of deadlocking.
# What comes back is only what was not both first and fulfilled: of most batches, nothing.
# An order that somebody else fulfilled is looked up by a function with a snapshot of its own. The flag
# is_message is a column of its own because the planner takes half of the rows for true; for "kind is null"
# it would expect one row, and join 500 by 500 in nested loops.
WRITE = """
    with item as materialized (
        select * from json_to_recordset(cast(:items as json)) as i (
            n int, is_message bool, topic text, partition int, "offset" bigint, event_id uuid, traceparent text,
            message_id text, value_sha256 bytea, order_id text, fulfillment_id uuid, customer_id text,
            placed_at text, lines json, total text, payload json, sequence bigint)
    ), {fresh}, fulfilled as (
        insert into fulfillment (order_id, fulfillment_id, message_id, customer_id, placed_at, lines, total)
        select order_id, fulfillment_id, message_id, customer_id, placed_at::timestamptz, lines, total::numeric
        from item join fresh using (message_id) order by order_id, n
        on conflict do nothing returning message_id
    ), buried as (
        insert into dead_letter (topic, partition, "offset", kind, reason)
        select topic, partition, "offset", payload->>'kind', payload->>'reason'
        from item where not is_message order by topic, partition, "offset"
        on conflict do nothing returning topic, partition, "offset"
    ), decided as materialized (
        select item.*, coalesce(f.message_id, fulfilled_by(order_id)) as fulfilled_by
        from item join fresh using (message_id) left join fulfilled f using (message_id)
    ), event (n, event_id, aggregate_type, aggregate_id, event_type, traceparent, payload) as (
        select n, event_id, 'fulfillment', order_id, 'order-fulfilled', traceparent, (select row_to_json(e) from (
               select message_id, order_id, fulfillment_id, customer_id, placed_at, lines, total) e)
        from decided where fulfilled_by = message_id
        union all
        select n, event_id, 'rejection', order_id, 'order-rejected', traceparent, (select row_to_json(e) from (
               select message_id, order_id, 'already_fulfilled' as reason, fulfilled_by) e)
        from decided where fulfilled_by <> message_id
        union all
        select n, event_id, 'dead-letter', concat_ws('/', topic, partition, "offset"), 'record-dead-lettered',
               traceparent, payload
        from item join buried using (topic, partition, "offset")
    ), published as (
        insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
        select event_id, aggregate_type, aggregate_id, event_type, traceparent, payload from event order by n
        on conflict do nothing
    )
    select item.message_id, decided.message_id is not null as first
    from item left join decided using (message_id)
    where item.is_message and decided.fulfilled_by is distinct from item.message_id"""

# The statement above cannot see what the worker that it waited for has committed; this one can. A store that keeps
# no row for each message has left the outbox's: its event id follows from the message id.
KNOWN = text("""
    select i.message_id, encode(coalesce(t.value_sha256, i.value_sha256), 'hex'), f.message_id is not null,
           t.audited_at is not null or t.audit_error is not null as audited, false as first
    from json_to_recordset(cast(:items as json)) i (message_id text, value_sha256 bytea, order_id text, event_id uuid)
    left join tracking t on t.subscriber = :subscriber and t.message_id = i.message_id
    left join fulfillment f on f.order_id = i.order_id and f.message_id = i.message_id
    left join outbox o on o.event_id = i.event_id
    where t.message_id is not null or o.event_id is not null""")

# Once the receiver has answered, a redelivery need not ask it again.
MARK = text("""
    update tracking t set audited_at = case when a.error is null then now() end, audit_error = a.error
    from json_each_text(cast(:answers as json)) as a (message_id, error)
    where t.subscriber = :subscriber and t.message_id = a.message_id""")


def write(
    engine: Engine, subscriber: str, fresh: str, items: Sequence[Item], **given: Any
) -> dict[str, Handled]:
    """Write what is fresh, and return what is now known of every message of the batch."""
    messages = {item.message_id: item for item in items if isinstance(item, Message)}
    with classify_errors(), engine.connect() as connection:
        sent = {"subscriber": subscriber, "items": rows(items), **given}
        others = {row.message_id: row.first for row in connection.execute(statement(fresh), sent)}
        firsts = {
            key: message.value_sha256 for key, message in messages.items() if others.get(key, True)
        }
        known = {
            key: Handled(sha256, key not in others, audited=False, first=True)
            for key, sha256 in firsts.items()
        }
        if before := [message for key, message in messages.items() if key not in firsts]:
            known |= {
                key: Handled(*found)
                for key, *found in connection.execute(KNOWN, sent | {"items": rows(before)})
            }
    return known


@cache
def statement(fresh: str) -> TextClause:
    """The write of a batch, with a dedup store's part in it."""
    return text(WRITE.replace("{fresh}", fresh.strip()))


def mark(engine: Engine, subscriber: str, answers: Answers) -> None:
    """One statement and one commit for the whole batch."""
    with classify_errors(), engine.connect() as connection:
        connection.execute(MARK, {"subscriber": subscriber, "answers": to_json(answers).decode()})


def rows(items: Sequence[Item]) -> str:
    """The batch as one JSON array: one parameter, however many rows; and no spaces to read."""
    return to_json([row(n, item) for n, item in enumerate(items)]).decode()


def row(n: int, item: Item) -> dict[str, Any]:
    """What is stored of an item; its ids are derived from nothing but its message id, or a dead letter's place."""
    place = item.record.place
    if isinstance(item, DeadLetter):
        event_id = derive("dead-letter", "{topic}/{partition}/{offset}".format_map(place))
        ids = {"event_id": event_id, "traceparent": traceparent(None, event_id)}
        return {"n": n, "is_message": False, **place, **ids, "payload": payload(item)}
    message_id, event_id = item.message_id, derive("event", item.message_id)
    known = {
        "message_id": message_id,
        "value_sha256": f"\\x{item.value_sha256}",
        "sequence": item.sequence,
    }
    made = {"fulfillment_id": derive("fulfillment", message_id), "total": item.total}
    ids = {"event_id": event_id, "traceparent": traceparent(item.traceparent, event_id)}
    return {"n": n, "is_message": True, **place, **item.order, **known, **made, **ids}
