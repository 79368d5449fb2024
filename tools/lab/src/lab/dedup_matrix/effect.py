"""A business transaction with a bare effect: only the dedup store keeps it from happening twice."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Engine, TextClause, text

from contract.events import ACCEPTED
from service.database import classify_errors
from service.dedup import Handled
from service.record import Item, Message
from service.write import rows

TABLES = """
    create schema if not exists dedup_matrix;
    -- Without a key, on purpose: the service's own ids are derived and would hide a second effect.
    create table if not exists dedup_matrix.effect (
        subscriber text not null,
        message_id text not null,
        order_id   text not null,
        sha256     text not null,
        applied    bigint generated always as identity
    );
    grant usage on schema dedup_matrix to app;
    grant select, insert on dedup_matrix.effect to app;
"""
# In the form of the service's own statement, so that a store's part fits into both.
WRITE = """
    with item as materialized (
        select *
        from json_to_recordset(cast(:items as json)) as i (
            n int,
            is_message bool,
            topic text,
            partition int,
            "offset" bigint,
            message_id text,
            value_sha256 bytea,
            order_id text,
            sequence bigint
        )
    ), repeated as (
        select * from item where false -- no row of the business knows any
    ), {fresh}, effect as (
        insert into dedup_matrix.effect (subscriber, message_id, order_id, sha256)
        select :subscriber, message_id, order_id, encode(value_sha256, 'hex')
        from item
        join fresh using (message_id)
        order by n
    )
    select message_id from fresh
"""
KNOWN = text("""
    select message_id, encode(value_sha256, 'hex') as sha256
    from tracking
    where subscriber = :subscriber and message_id = any(:message_ids)
""")
EFFECTS = text("""
    select message_id, count(*) as effects
    from dedup_matrix.effect
    where subscriber = :subscriber
    group by message_id
""")

LAST = text("""
    select distinct on (order_id) order_id, message_id
    from dedup_matrix.effect
    where subscriber = :subscriber
    order by order_id, applied desc
""")


def go_on() -> None:
    """Do nothing at this moment."""


class Moments(NamedTuple):
    """When an anomaly may happen, between the claim of a store and its settling."""

    before: Callable[[], None] = go_on  # nothing of the transaction is done
    inside: Callable[[], None] = go_on  # all of it is done, and not committed
    after: Callable[[], None] = go_on  # it is committed


def write(
    engine: Engine,
    subscriber: str,
    moments: Moments,
    fresh: str,
    batch: Sequence[Item],
    **parameters: Any,
) -> dict[str, Handled]:
    """Give what is fresh its effect, with a stop at each moment.

    Return what is known of every message.
    """
    hashes: dict[str, str | None] = {
        item.message_id: item.value_sha256 for item in batch if isinstance(item, Message)
    }
    moments.before()
    read_committed = engine.execution_options(isolation_level="READ COMMITTED")
    with classify_errors(), read_committed.connect() as connection:
        named = {"subscriber": subscriber, "items": rows(batch), **parameters}
        firsts = set(connection.scalars(statement(fresh), named))
        moments.inside()
        connection.commit()
    moments.after()
    others = [message_id for message_id in hashes if message_id not in firsts]
    if others:
        hashes |= dict.fromkeys(others) | known_hashes(engine, subscriber, others)
    return {
        message_id: Handled(
            value_sha256=sha256,
            outcome=ACCEPTED,
            audited=False,
            first=message_id in firsts,
        )
        for message_id, sha256 in hashes.items()
    }


def known_hashes(engine: Engine, subscriber: str, message_ids: Sequence[str]) -> dict[str, str]:
    """Return the hash of each message that the tracking table knows."""
    named = {"subscriber": subscriber, "message_ids": message_ids}
    with engine.connect() as connection:
        found = connection.execute(KNOWN, named)
        return {row.message_id: row.sha256 for row in found}


@cache
def statement(fresh: str) -> TextClause:
    """Return the business transaction with a store's part in it."""
    return text(WRITE.replace("{fresh}", fresh.strip()))


def count_effects(engine: Engine, subscriber: str) -> Counter[str]:
    """Return how often each message had its effect."""
    with engine.connect() as connection:
        found = connection.execute(EFFECTS, {"subscriber": subscriber})
        return Counter({row.message_id: row.effects for row in found})


def find_last(engine: Engine, subscriber: str) -> dict[str, str]:
    """Return the message that had its effect last, for each order: what a reader sees there."""
    with engine.connect() as connection:
        found = connection.execute(LAST, {"subscriber": subscriber})
        return {row.order_id: row.message_id for row in found}
