"""What a request writes: audit entries and their events in one statement, one transaction, one per key."""

from collections.abc import Sequence

from pydantic_core import to_json
from sqlalchemy import Engine, text

from service.audit.entry import Answer, Entry, problem
from service.database import classify_errors

# The primary key decides which of two requests was first. A key whose first request is still in work makes
# this statement wait, at most as long as lock_timeout says. An entry and its event have the same id.
RECORD = text("""
    with item as materialized (
        select *, replace(audit_entry_id::text, '-', '') as digits
        from json_populate_recordset(null::audit_entry, cast(:entries as json)) with ordinality
    ), entry as (
        insert into audit_entry
        select idempotency_key, audit_entry_id, message_id, order_id, outcome, fulfillment_id, total,
               decode(answer->>'body_sha256', 'hex'), answer
        from item order by idempotency_key
        on conflict do nothing returning idempotency_key
    ), published as (
        insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
        select audit_entry_id, 'audit', order_id, 'audit-entry-recorded',
               concat('00-', digits, '-', left(digits, 16), '-00'), answer
        from item join entry using (idempotency_key) order by ordinality
    )
    select idempotency_key from entry""")

RECORDED = text(
    "select idempotency_key, answer from audit_entry where idempotency_key = any(:keys)"
)


def record(engine: Engine, entries: Sequence[Entry]) -> list[Answer]:
    """An answer for each entry, in sequence: made now, replayed, or refused because the body is another."""
    known = {
        entry.idempotency_key: entry for entry in reversed(entries)
    }  # of two with one key, the first
    rows = [
        {**entry.body, **entry.answer, "answer": entry.answer} for entry in reversed(known.values())
    ]
    with classify_errors(), engine.connect() as connection:
        made = connection.scalars(RECORD, {"entries": to_json(rows).decode()}).all()
        if before := known.keys() - made:
            for key, answer in connection.execute(RECORDED, {"keys": list(before)}):
                known[key] = known[key]._replace(answer=answer)
    return [replay(entry, known[entry.idempotency_key]) for entry in entries]


def replay(entry: Entry, known: Entry) -> Answer:
    """The answer that is known for its key, if it was given to this body."""
    if entry.answer["body_sha256"] != known.answer["body_sha256"]:
        return problem(422, "Idempotency-Key: already used with another body")
    return 201, known.answer
