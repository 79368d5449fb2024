"""What a request writes: audit entries and their events in one statement, one transaction, one per key."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, text

from service.audit.body import Item
from service.audit.problem import ProblemError
from service.database import sorted_errors
from service.ids import derive, traceparent

Answer = tuple[int, dict[str, Any]]  # status and document

# The key's primary key decides who was first. A key whose first request is still in work makes this
# statement wait, at most as long as lock_timeout says.
RECORD = text("""
    with item as materialized (
        select * from json_to_recordset(cast(:items as json)) as i (
            n int, idempotency_key text, audit_entry_id uuid, message_id text, order_id text, outcome text,
            fulfillment_id uuid, total numeric, body_sha256 bytea, answer json, event_id uuid,
            traceparent text)
    ), entry as (
        insert into audit_entry (idempotency_key, audit_entry_id, message_id, order_id, outcome,
                                 fulfillment_id, total, body_sha256, answer)
        select idempotency_key, audit_entry_id, message_id, order_id, outcome,
               fulfillment_id, total, body_sha256, answer
        from item order by idempotency_key
        on conflict do nothing
        returning idempotency_key
    ), published as (
        insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
        select event_id, 'audit', order_id, 'audit-entry-recorded', traceparent, answer
        from item join entry using (idempotency_key) order by n
    )
    select idempotency_key from entry
""")

RECORDED = text("""
    select idempotency_key, encode(body_sha256, 'hex') as body_sha256, answer
    from audit_entry where idempotency_key = any(:keys)
""")


def record(engine: Engine, items: Sequence[Item]) -> list[Answer]:
    """An answer for each item, in order: made now, replayed, or refused because the body is another."""
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(item.idempotency_key, item)
    rows = [row(n, item) for n, item in enumerate(first.values())]
    made = {r["idempotency_key"]: (first[r["idempotency_key"]].body_sha256, r["answer"]) for r in rows}
    with sorted_errors(), engine.connect() as connection:
        inserted = set(connection.scalars(RECORD, {"items": compact(rows)}))
        before = [key for key in first if key not in inserted]
        if before:
            found = connection.execute(RECORDED, {"keys": before})
            made |= {r.idempotency_key: (r.body_sha256, r.answer) for r in found}
    return [answer(item, *made[item.idempotency_key]) for item in items]


def answer(item: Item, body_sha256: str, document: dict[str, Any]) -> Answer:
    """The stored answer, if it was given to this body."""
    if item.body_sha256 == body_sha256:
        return 201, document
    problem = ProblemError(422, "Idempotency-Key: already used with another body")
    return problem.status, problem.document()


def row(n: int, item: Item) -> dict[str, Any]:
    """One entry; its answer is its event too, and both are a pure function of key and body."""
    event_id = derive("event", item.idempotency_key)
    document = {
        "audit_entry_id": derive("audit-entry", item.idempotency_key),
        "idempotency_key": item.idempotency_key,
        "message_id": item.body["message_id"],
        "order_id": item.body["order_id"],
        "outcome": item.body["outcome"],
        "body_sha256": item.body_sha256,
    }
    return {
        "n": n,
        **item.body,
        "idempotency_key": item.idempotency_key,
        "audit_entry_id": document["audit_entry_id"],
        "body_sha256": f"\\x{item.body_sha256}",
        "answer": document,
        "event_id": event_id,
        "traceparent": traceparent(None, event_id),
    }


def compact(rows: list[dict[str, Any]]) -> str:
    """JSON without spaces, characters as they are."""
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
