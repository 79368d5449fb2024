"""Ids in the entity: the row of an order holds the ids of the messages that were handled for it."""

from service.dedup import DedupStore, InTransaction, Write

# One update of each order, which adds the ids that it does not have, and returns those that it had
# (PostgreSQL 18).
FRESH = """
received as (
    select order_id, array_agg(message_id order by message_id) as message_ids
    from item
    where is_message
    group by order_id
),

added as (
    insert into order_state as state (subscriber, order_id, message_ids)
    select :subscriber, order_id, message_ids
    from received
    order by order_id
    on conflict (subscriber, order_id) do update set
        touched_at = now(),
        message_ids = state.message_ids || array(
            select unnest(excluded.message_ids)
            except
            select unnest(state.message_ids)
        )
    where not state.message_ids @> excluded.message_ids
    returning order_id, coalesce(old.message_ids, '{}') as known
),

fresh as (
    select message_id
    from item
    join added using (order_id)
    where message_id <> all(known)
)
"""

# Retention: the row stays, because it is the order's; its ids go after a time without messages.
FORGET = """
update order_state
set message_ids = '{}'
where ctid = any(array(
    select ctid
    from order_state
    where subscriber = :subscriber and touched_at < :before and message_ids <> '{}'
    limit :limit
    for update skip locked
))
"""


def make_store(write: Write) -> DedupStore:
    """Return a store without a row for each message, whose rows grow: for few messages an order."""
    return InTransaction(write, FRESH)
