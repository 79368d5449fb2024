"""The rule of ten: how many records one cause may cost before the next one waits for a person."""

from typing import Literal, NamedTuple

from sqlalchemy import Engine, text

from service.database import classify_errors, wait_out_refusals
from service.record import Record

Kind = Literal["database", "audit"]

# A record that waits is noted again and again, which keeps its cause shut for every worker. Once
# nobody has noted it for as long as the window, only the record itself still waits.
NOTE = text("""
    with alike as (
        select
            is_waiting,
            (topic, partition, "offset") = (:topic, :partition, :offset) as is_this,
            refused_at > now() - make_interval(secs => :window_seconds) as is_recent
        from refusal
        where subscriber = :subscriber and kind = :kind and code = :code and name = :name
    ),

    allowed as (
        select
        from refusal_allowed
        where kind = :kind
            and code = :code
            and coalesce(name, :name) = :name
            and allowed_until > now()
    )

    insert into refusal (subscriber, kind, code, name, topic, partition, "offset", is_waiting)
    select
        :subscriber, :kind, :code, :name, :topic, :partition, :offset,
        not exists (select from allowed)
            and (
                coalesce(bool_or(is_waiting), false)
                or count(*) filter (where not is_this) >= :limit
            )
    from alike
    where is_this or is_recent
    on conflict (subscriber, kind, code, name, topic, partition, "offset") do update set
        is_waiting = refusal.is_waiting and excluded.is_waiting,
        refused_at = excluded.refused_at
    returning is_waiting
""")

GIVEN_UP = text("""
    select "offset", code, name
    from refusal
    where subscriber = :subscriber
        and kind = :kind
        and topic = :topic
        and partition = :partition
        and "offset" >= :offset
        and not is_waiting
""")

LOOK = text("select from refusal, refusal_allowed, audit_failure limit 0")


class Cause(NamedTuple):
    """What refuses a record: alike are those that the same one refuses."""

    kind: Kind
    code: str  # a SQLSTATE, or a status of the audit receiver
    name: str  # the constraint, column or function, if one is named

    def __str__(self) -> str:
        """Return it as people type it: `pipeline dead-letters allow 23514:no_13`."""
        return f"{self.code}:{self.name}" if self.name else self.code


class Limits(NamedTuple):
    """How many records one cause may cost, and within how long."""

    records: int
    window_seconds: float


def may_give_up(
    engine: Engine, subscriber: str, limits: Limits, cause: Cause, record: Record
) -> bool:
    """Note that a record was refused, and return whether it may be given up; else it waits.

    The count is of distinct records, over all workers of the subscriber and all restarts.
    """
    parameters = {
        "subscriber": subscriber,
        **cause._asdict(),
        **record.place,
        "limit": limits.records,
        "window_seconds": limits.window_seconds,
    }
    # So that two workers do not both become the tenth.
    serializable = engine.execution_options(isolation_level="SERIALIZABLE")
    with wait_out_refusals(), classify_errors(), serializable.begin() as transaction:
        is_waiting = transaction.scalar(NOTE, parameters)
    return not is_waiting


def find_given_up(engine: Engine, subscriber: str, kind: Kind, first: Record) -> dict[int, Cause]:
    """Return what a subscriber has given up in a record's partition, from it on, by offset."""
    parameters = {"subscriber": subscriber, "kind": kind, **first.place}
    with wait_out_refusals(), classify_errors(), engine.connect() as connection:
        rows = connection.execute(GIVEN_UP, parameters)
        return {row.offset: Cause(kind, row.code, row.name) for row in rows}


def look(engine: Engine) -> None:
    """Raise what is wrong with the tables, before they are needed."""
    with classify_errors(), engine.connect() as connection:
        connection.execute(LOOK)
