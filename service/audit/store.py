"""What a request writes: audit entries and their events in one statement, each key once."""

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from pydantic_core import to_json
from sqlalchemy import Connection, Engine, text

from service.audit.entry import Answer, Document, Entry, problem
from service.database import classify_errors
from service.ids import traceparent

# The primary key decides which of two requests was first. A key whose first request is still in
# progress makes this statement wait, for as long as lock_timeout allows. An entry and its event
# have the same id.
RECORD = text("""
    with item as materialized (
        select *
        from rows from (
            json_populate_recordset(null::audit_entry, cast(:entries as json)),
            json_to_recordset(cast(:entries as json)) as (traceparent text, tracestate text)
        ) with ordinality
    ),

    entry as (
        insert into audit_entry (
            idempotency_key, audit_entry_id, message_id, order_id, outcome, fulfillment_id, total,
            body_sha256, answer, caller
        )
        select
            idempotency_key, audit_entry_id, message_id, order_id, outcome, fulfillment_id, total,
            decode(answer->>'body_sha256', 'hex'),
            answer,
            caller
        from item
        order by idempotency_key
        on conflict do nothing
        returning idempotency_key
    ),

    published as (
        insert into outbox (
            event_id, aggregate_type, aggregate_id, event_type, traceparent, tracestate, payload
        )
        select
            audit_entry_id,
            'audit',
            order_id,
            'audit-entry-recorded',
            traceparent,
            tracestate,
            answer
        from item
        join entry using (idempotency_key)
        order by ordinality
        on conflict do nothing -- an entry that was lost, and whose event was not
    )

    select idempotency_key from entry
""")

FIND_RECORDED = text("""
    select idempotency_key, answer, caller
    from audit_entry
    where idempotency_key = any(:keys)
""")


Note = Callable[[Sequence[Entry]], object]  # is told which entries were recorded just now


class Known(NamedTuple):
    """What was answered to the first request with a key, and to whom; to anybody, if it is old."""

    answer: Document
    caller: str | None


def record(
    engine: Engine,
    caller: str | None,
    entries: Sequence[Entry],
    note: Note,
) -> list[Answer]:
    """Return an answer for each entry: made now, replayed, or refused; note those made now.

    A key is refused if it was used with another body, or by another caller.
    """
    first_of_key: dict[str, Entry] = {}
    for entry in entries:
        first_of_key.setdefault(entry.idempotency_key, entry)
    rows = [make_row(entry, caller) for entry in first_of_key.values()]
    with classify_errors(), engine.connect() as connection:
        parameters = {"entries": to_json(rows).decode()}
        recorded_now = set(connection.scalars(RECORD, parameters))
        recorded_before = first_of_key.keys() - recorded_now
        known = find_answers(connection, recorded_before)
    note([first_of_key[key] for key in recorded_now])
    answers = []
    for entry in entries:
        key = entry.idempotency_key
        made_now = Known(first_of_key[key].answer, caller)
        of_key = known.get(key, made_now)
        answers.append(replay(entry, caller, of_key))
    return answers


def find_answers(connection: Connection, keys: Set[str]) -> dict[str, Known]:
    """Return the answers that were given to the first requests with these keys."""
    if not keys:
        return {}
    found = connection.execute(FIND_RECORDED, {"keys": list(keys)})
    return {row.idempotency_key: Known(row.answer, row.caller) for row in found}


def make_row(entry: Entry, caller: str | None) -> Document:
    """Return what is stored of an entry."""
    row: Document = {**entry.body, **entry.answer}
    row["answer"] = entry.answer
    row["caller"] = caller
    row["traceparent"] = traceparent(entry.trace, entry.answer["audit_entry_id"])
    row["tracestate"] = entry.trace.state if entry.trace else ""
    return row


def replay(entry: Entry, caller: str | None, known: Known) -> Answer:
    """Return the answer that is known for this key, if it was given to this caller and body."""
    is_of_another = known.caller not in (None, caller)
    if is_of_another:
        return problem(422, "Idempotency-Key: already used by another caller")
    own_hash = entry.answer["body_sha256"]
    known_hash = known.answer["body_sha256"]
    if own_hash != known_hash:
        return problem(422, "Idempotency-Key: already used with another body")
    return Answer(201, known.answer)
