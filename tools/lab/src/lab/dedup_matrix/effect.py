"""A business transaction whose effect is bare: nothing but the dedup store keeps it from happening twice."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Engine, TextClause, text

from service.database import classify_errors
from service.dedup import Handled
from service.record import Item, Message
from service.write import rows

TABLES = """
    create schema if not exists truth;
    -- Without a key, on purpose: the service's own ids are derived, and would hide what a store lets through.
    create table if not exists truth.effect (subscriber text not null, message_id text not null, sha256 text not null);
    grant usage on schema truth to app;
    grant select, insert on truth.effect to app;
"""

# In the form of the service's own statement, so that a store's part fits into both.
WRITE = """
    with item as materialized (
        select * from json_to_recordset(cast(:items as json)) as i (
            n int, is_message bool, topic text, partition int, "offset" bigint,
            message_id text, value_sha256 bytea, order_id text, sequence bigint)
    ), {fresh}, effect as (
        insert into truth.effect select :subscriber, message_id, encode(value_sha256, 'hex')
        from item join fresh using (message_id) order by n
    )
    select message_id from fresh
"""
KNOWN = text("""
    select message_id, encode(value_sha256, 'hex') as sha256 from tracking
    where subscriber = :subscriber and message_id = any(:message_ids)
""")
EFFECTS = text("""
    select message_id, count(*) as effects from truth.effect where subscriber = :subscriber group by message_id
""")


def go_on() -> None:
    """Nothing happens at this moment."""


class Moments(NamedTuple):
    """Where an anomaly may strike, between what a store has claimed and what it has yet to settle."""

    before: Callable[[], None] = go_on  # nothing of the transaction is done
    inside: Callable[[], None] = go_on  # all of it is done, and not committed
    after: Callable[[], None] = go_on  # it is committed


def write(
    engine: Engine,
    subscriber: str,
    moments: Moments,
    fresh: str,
    batch: Sequence[Item],
    **given: Any,
) -> dict[str, Handled]:
    """Give what is fresh its effect, with a stop at each moment, and return what is known of every message."""
    hashes = {item.message_id: item.value_sha256 for item in batch if isinstance(item, Message)}
    moments.before()
    with (
        classify_errors(),
        engine.connect().execution_options(isolation_level="READ COMMITTED") as connection,
    ):
        asked = {"subscriber": subscriber, "items": rows(batch), **given}
        firsts = set(connection.scalars(statement(fresh), asked))
        moments.inside()
        connection.commit()
    moments.after()
    if len(firsts) < len(hashes):
        with engine.connect() as connection:
            asked = {
                "subscriber": subscriber,
                "message_ids": [key for key in hashes if key not in firsts],
            }
            hashes |= {row.message_id: row.sha256 for row in connection.execute(KNOWN, asked)}
    return {key: Handled(sha256, True, False, key in firsts) for key, sha256 in hashes.items()}


@cache
def statement(fresh: str) -> TextClause:
    """The business transaction with a store's part in it."""
    return text(WRITE.replace("{fresh}", fresh.strip()))


def effects(engine: Engine, subscriber: str) -> Counter[str]:
    """How often each message had its effect."""
    with engine.connect() as connection:
        return Counter(
            {
                row.message_id: row.effects
                for row in connection.execute(EFFECTS, {"subscriber": subscriber})
            }
        )
