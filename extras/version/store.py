"""The highest version of each order: what is not newer than the last handled is passed over."""

from service.dedup import NOTE_DROPPED, DedupStore, InTransaction, Write

# One conditional update of each order, which also returns what its version was (PostgreSQL 18); a
# version that is not raised returns nothing. Fresh is what is above it, and above everything of
# this order before it in its batch.
FRESH = """
versioned as materialized (
    select message_id, order_id, n, lpad(sequence::text, 18, '0') collate "C" as version
    from item
    where is_message
),

raised as (
    insert into order_version as highest (subscriber, order_id, version)
    select :subscriber, order_id, max(version)
    from versioned
    group by order_id
    order by order_id
    on conflict (subscriber, order_id) do update set
        version = excluded.version,
        touched_at = now()
    where highest.version < excluded.version
    returning order_id, coalesce(old.version, '') as known
),

numbered as (
    select
        *,
        max(version) over (
            partition by order_id
            order by n
            rows between unbounded preceding and 1 preceding
        ) as before
    from versioned
),

fresh as (
    select message_id
    from numbered
    join raised using (order_id)
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


def make_store(write: Write) -> DedupStore:
    """Return a store for events that give a state; where they add to one, it loses older ones."""
    return InTransaction(write, FRESH.rstrip() + NOTE_DROPPED, needs_sequence=True)
