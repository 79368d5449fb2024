"""What a request writes: audit entries and their events in one statement, one transaction, one per key."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Engine, text

from service.audit.entry import Answer, Item, problem
from service.database import sorted_errors
from service.ids import derive

# The primary key decides which of two requests was first. A key whose first request is still in work makes
# this statement wait, at most as long as lock_timeout says. An entry and its event have the same id.
RECORD = text("""
    with item as materialized (
        select *, replace(audit_entry_id::text, '-', '') as digits
        from json_populate_recordset(null::audit_entry, cast(:items as json)) with ordinality
    ), entry as (
        insert into audit_entry
        select idempotency_key, audit_entry_id, message_id, order_id, outcome, fulfillment_id, total,
               body_sha256, answer
        from item order by idempotency_key
        on conflict do nothing returning idempotency_key
    ), published as (
        insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
        select audit_entry_id, 'audit', order_id, 'audit-entry-recorded',
               concat('00-', digits, '-', left(digits, 16), '-00'), answer
        from item join entry using (idempotency_key) order by ordinality
    )
    select idempotency_key from entry
""")

RECORDED = text("""
    select idempotency_key, encode(body_sha256, 'hex') as body_sha256, answer
    from audit_entry where idempotency_key = any(:keys)
""")


def record(engine: Engine, items: Sequence[Item]) -> list[Answer]:
    """An answer for each item, in order: made now, replayed, or refused because the body is another."""
    first = {item.idempotency_key: item for item in reversed(items)}
    rows = {item.idempotency_key: row(item) for item in items if item is first[item.idempotency_key]}
    known = {key: (first[key].body_sha256, document["answer"]) for key, document in rows.items()}
    with sorted_errors(), engine.connect() as connection:
        made = set(connection.scalars(RECORD, {"items": to_json(list(rows.values())).decode()}))
        before = [key for key in first if key not in made]
        if before:
            for found in connection.execute(RECORDED, {"keys": before}):
                known[found.idempotency_key] = (found.body_sha256, found.answer)
    return [answer(item, *known[item.idempotency_key]) for item in items]


def answer(item: Item, body_sha256: str, document: dict[str, Any]) -> Answer:
    """The stored answer, if it was given to this body."""
    if item.body_sha256 != body_sha256:
        return problem(422, "Idempotency-Key: already used with another body")
    return 201, document


def row(item: Item) -> dict[str, Any]:
    """One entry; its answer is its event too, and both are a pure function of key and body."""
    document = {
        "audit_entry_id": derive("audit-entry", item.idempotency_key),
        "idempotency_key": item.idempotency_key,
        **{name: item.body[name] for name in ("message_id", "order_id", "outcome")},
        "body_sha256": item.body_sha256,
    }
    return {**item.body, **document, "body_sha256": f"\\x{item.body_sha256}", "answer": document}
