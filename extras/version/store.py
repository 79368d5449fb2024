"""The highest version of each order: what is not newer than the last handled is passed over.

Several aggregates may feed one order: each numbers its own events, and is counted for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from service.dedup import NOTE_DROPPED, DedupStore, Handled, Write
from service.record import Item, Message

SOURCE = "source"  # the header that names the publishing aggregate; without it there is only one

# One conditional update of each order and source, which also returns what its version was
# (PostgreSQL 18); a version that is not raised returns nothing. Fresh is what is above it, and
# above everything of this order and source before it in its batch. Versions are compared as text of
# one width: without the zeros before it, 9 would be higher than 10.
FRESH = """
versioned as materialized (
    select message_id, order_id, source, n, lpad(sequence::text, 18, '0') collate "C" as version
    from item
    join json_each_text(cast(:sources as json)) as published (message_id, source) using (message_id)
    where is_message
),

raised as (
    insert into order_version as highest (subscriber, order_id, source, version)
    select :subscriber, order_id, source, max(version)
    from versioned
    group by order_id, source
    order by order_id, source
    on conflict (subscriber, order_id, source) do update set
        version = excluded.version,
        touched_at = now()
    where highest.version < excluded.version
    returning order_id, source, coalesce(old.version, '') as known
),

numbered as (
    select
        *,
        max(version) over (
            partition by order_id, source
            order by n
            rows between unbounded preceding and 1 preceding
        ) as before
    from versioned
),

fresh as (
    select message_id
    from numbered
    join raised using (order_id, source)
    where version > greatest(known, before)
)
"""

# Retention: an order that nobody has touched for this long is not expected again.
FORGET = """
delete from order_version
where ctid = any(array(
    select ctid
    from order_version
    where subscriber = :subscriber and touched_at < :before
    limit :limit
    for update skip locked
))
"""


@dataclass
class Versions:
    """A store whose statement must know who has published each message."""

    write: Write
    fresh: str = FRESH.rstrip() + NOTE_DROPPED
    needs_sequence: bool = True

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Claim and write the effect in one statement: both happen, or neither."""
        sources = {item.message_id: source(item) for item in batch if isinstance(item, Message)}
        return self.write(self.fresh, batch, sources=to_json(sources).decode())

    def settle(self, batch: Sequence[Item]) -> None:
        """Do nothing: the claim is settled already."""


def source(message: Message) -> str:
    """Return the name of the aggregate that has published a message."""
    given = message.record.header_values(SOURCE)
    return given[0].decode("utf-8", "replace") if given else ""


def make_store(write: Write) -> DedupStore:
    """Return a store for events that give a state; where they add to one, it loses older ones."""
    return Versions(write)
