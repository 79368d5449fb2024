"""What a batch of messages writes: groups begun and closed, totals, dead letters and positions, in one transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json
from sqlalchemy import Connection, CursorResult, Engine, TextClause, text

from extras.aggregator.event import buried, totalled
from extras.aggregator.group import Changes
from service.database import classify_errors
from service.outage import AbandonedError

# Only from where we believe a partition to stand: else another consumer has moved it, and the rest is its affair.
MOVE = text("""
    update batch_position p set "offset" = m.next
    from json_to_recordset(cast(:rows as json)) as m (topic text, partition int, "offset" bigint, next bigint)
    where p.topic = m.topic and p.partition = m.partition and p."offset" = m."offset"
""")
BEGIN = text("""
    insert into open_batch (topic, partition, "offset", batch_id) select topic, partition, "offset", batch_id
    from json_to_recordset(cast(:rows as json)) as g (topic text, partition int, "offset" bigint, batch_id text)
    on conflict do nothing -- somebody has set the position back by hand
""")
COMPLETE = text("""
    update open_batch o set complete_offset = g.complete_offset
    from json_to_recordset(cast(:rows as json)) as g (
        topic text, partition int, "offset" bigint, complete_offset bigint)
    where o.topic = g.topic and o.partition = g.partition and o."offset" = g."offset"
""")
# What the delete returned decides: only who took the row away publishes, and both are one statement.
CLOSE = text("""
    with event as materialized (
        select * from json_to_recordset(cast(:rows as json)) as e (
            n int, topic text, partition int, "offset" bigint, batch_id text, event_id uuid, event_type text,
            traceparent text, payload json)
    ), closed as (
        delete from open_batch o using event e
        where o.topic = e.topic and o.partition = e.partition and o."offset" = e."offset" and o.batch_id = e.batch_id
        returning o.topic, o.partition, o."offset"
    )
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
    select event_id, 'batch-total', batch_id, event_type, traceparent, payload
    from event join closed using (topic, partition, "offset") order by n
    on conflict do nothing
    returning event_id::text
""")
BURY = text("""
    with letter as materialized (
        select * from json_to_recordset(cast(:rows as json)) as l (
            n int, topic text, partition int, "offset" bigint, event_id uuid, traceparent text, payload json)
    ), buried as (
        insert into dead_letter (topic, partition, "offset", kind, reason)
        select topic, partition, "offset", payload->>'kind', payload->>'reason'
        from letter order by topic, partition, "offset"
        on conflict do nothing returning topic, partition, "offset"
    )
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
    select event_id, 'dead-letter', concat_ws('/', topic, partition, "offset"), 'record-dead-lettered', traceparent,
        payload
    from letter join buried using (topic, partition, "offset") order by n
    on conflict do nothing
""")


class MovedError(AbandonedError):
    """A partition does not stand where we left it: another consumer has it, or had it meanwhile."""


class Move(NamedTuple):
    """How far a batch brings a partition."""

    topic: str
    partition: int
    offset: int
    next: int


def write(engine: Engine, moves: Sequence[Move], changes: Changes) -> None:
    """Everything that a batch brings about, in one transaction, or a MovedError and nothing."""
    completed = [{**group.begin, "complete_offset": offset} for group, offset in changes.completed]
    begun = [{**group.begin, "batch_id": group.batch_id} for group in changes.begun]
    with (
        classify_errors(),
        engine.execution_options(isolation_level="READ COMMITTED").begin() as transaction,
    ):
        if execute(transaction, MOVE, [move._asdict() for move in moves]).rowcount != len(moves):
            raise MovedError("a partition stands elsewhere: another consumer has moved it")
        closed, letters = map(totalled, changes.closed), map(buried, changes.letters)
        for statement, rows in (
            (BEGIN, begun),
            (COMPLETE, completed),
            (CLOSE, [*closed]),
            (BURY, [*letters]),
        ):
            if rows:
                execute(transaction, statement, rows)


def close(engine: Engine, events: Sequence[dict[str, Any]]) -> set[str]:
    """End these groups, in one statement; the ids of the events that were published, and not by somebody else."""
    with classify_errors(), engine.connect() as connection:
        return set(execute(connection, CLOSE, events).scalars()) if events else set()


def execute(
    connection: Connection, statement: TextClause, rows: Sequence[dict[str, Any]]
) -> CursorResult[Any]:
    """One statement for all rows, as one JSON array that keeps their sequence."""
    numbered = [row | {"n": n} for n, row in enumerate(rows)]
    return connection.execute(statement, {"rows": to_json(numbered).decode()})
