"""What a batch writes in one transaction: groups, totals, dead letters and positions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json
from sqlalchemy import Connection, CursorResult, Engine, TextClause, text

from extras.aggregator.event import Event, dead_letter_event, total_event
from extras.aggregator.group import Changes, Group
from service.database import classify_errors
from service.outage import AbandonedError

# Only from where we believe a partition to be. If another consumer has moved it, the rest is its
# affair.
MOVE = text("""
    update batch_position p
    set "offset" = move.next
    from json_to_recordset(cast(:rows as json)) as move (
        topic text, partition int, "offset" bigint, next bigint
    )
    where p.topic = move.topic
        and p.partition = move.partition
        and p."offset" = move."offset"
""")

# A conflict means that somebody has set the position back by hand.
BEGIN = text("""
    insert into open_batch (topic, partition, "offset", batch_id)
    select topic, partition, "offset", batch_id
    from json_to_recordset(cast(:rows as json)) as begun (
        topic text, partition int, "offset" bigint, batch_id text
    )
    on conflict do nothing
""")

COMPLETE = text("""
    update open_batch o
    set complete_offset = completed.complete_offset
    from json_to_recordset(cast(:rows as json)) as completed (
        topic text, partition int, "offset" bigint, complete_offset bigint
    )
    where o.topic = completed.topic
        and o.partition = completed.partition
        and o."offset" = completed."offset"
""")

# What the delete returns decides: only who took the row away publishes, and both are one statement.
CLOSE = text("""
    with event as materialized (
        select *
        from json_to_recordset(cast(:rows as json)) as e (
            n int,
            topic text,
            partition int,
            "offset" bigint,
            batch_id text,
            event_id uuid,
            event_type text,
            traceparent text,
            replay bool,
            payload json
        )
    ), closed as (
        delete from open_batch o
        using event e
        where o.topic = e.topic
            and o.partition = e.partition
            and o."offset" = e."offset"
            and o.batch_id = e.batch_id
        returning o.topic, o.partition, o."offset"
    )
    insert into outbox (
        event_id, aggregate_type, aggregate_id, event_type, traceparent, replay, payload
    )
    select event_id, 'batch-total', batch_id, event_type, traceparent, replay, payload
    from event
    join closed using (topic, partition, "offset")
    order by n
    on conflict do nothing
    returning event_id::text
""")

BURY = text("""
    with letter as materialized (
        select *
        from json_to_recordset(cast(:rows as json)) as l (
            n int,
            topic text,
            partition int,
            "offset" bigint,
            event_id uuid,
            traceparent text,
            payload json
        )
    ), buried as (
        insert into dead_letter (subscriber, topic, partition, "offset", kind, reason)
        select
            payload->>'subscriber',
            topic,
            partition,
            "offset",
            payload->>'kind',
            payload->>'reason'
        from letter
        order by topic, partition, "offset"
        on conflict do nothing
        returning topic, partition, "offset"
    )
    insert into outbox (
        event_id, aggregate_type, aggregate_id, event_type, traceparent, payload
    )
    select
        event_id,
        'dead-letter',
        concat_ws('/', topic, partition, "offset"),
        'record-dead-lettered',
        traceparent,
        payload
    from letter
    join buried using (topic, partition, "offset")
    order by n
    on conflict do nothing
""")


class MovedError(AbandonedError):
    """A partition is not where we left it: another consumer has it, or had it meanwhile."""


class Move(NamedTuple):
    """How far a batch moves a partition."""

    topic: str
    partition: int
    offset: int
    next: int


def write(engine: Engine, subscriber: str, moves: Sequence[Move], changes: Changes) -> None:
    """Write everything that a batch brings about in one transaction, or raise MovedError."""
    move_rows = [move._asdict() for move in moves]
    begun = [begun_row(group) for group in changes.begun]
    completed = [completed_row(group, offset) for group, offset in changes.completed]
    closed = [total_event(group) for group in changes.closed]
    letters = [dead_letter_event(letter, subscriber) for letter in changes.letters]
    steps = [(BEGIN, begun), (COMPLETE, completed), (CLOSE, closed), (BURY, letters)]
    read_committed = engine.execution_options(isolation_level="READ COMMITTED")
    with classify_errors(), read_committed.begin() as transaction:
        moved = execute(transaction, MOVE, move_rows)
        if moved.rowcount != len(moves):
            raise MovedError(
                "a partition is not where this consumer left it: another one has moved it"
            )
        for statement, rows in steps:
            if rows:
                execute(transaction, statement, rows)


def begun_row(group: Group) -> dict[str, Any]:
    """Return the row of a group that has begun."""
    return {**group.begin, "batch_id": group.batch_id}


def completed_row(group: Group, offset: int) -> dict[str, Any]:
    """Return where a missed group began, and the offset of its completion."""
    return {**group.begin, "complete_offset": offset}


def close(engine: Engine, events: Sequence[Event]) -> set[str]:
    """End these groups, and return the ids of the events that we, and nobody else, published."""
    if not events:
        return set()
    with classify_errors(), engine.connect() as connection:
        published = execute(connection, CLOSE, events)
        return set(published.scalars())


def execute(
    connection: Connection, statement: TextClause, rows: Sequence[dict[str, Any]]
) -> CursorResult[Any]:
    """Run one statement for all rows, as one JSON array that keeps their sequence."""
    numbered = [row | {"n": n} for n, row in enumerate(rows)]
    parameters = {"rows": to_json(numbered).decode()}
    return connection.execute(statement, parameters)
