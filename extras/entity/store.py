"""Ids in the entity: the row of an order holds the ids of the messages that were handled for it."""

from service.dedup import DedupStore, InTransaction, Write

# One update of each order, which adds the ids that it has not, and returns those that it had (PostgreSQL 18).
FRESH = """
    given as (
        select order_id, array_agg(message_id order by message_id) as message_ids
        from item where is_message group by order_id
    ), added as (
        insert into order_state as s (subscriber, order_id, message_ids)
        select :subscriber, order_id, message_ids from given order by order_id
        on conflict (subscriber, order_id) do update set touched_at = now(), message_ids = s.message_ids || array(
            select unnest(excluded.message_ids) except select unnest(s.message_ids))
        where not s.message_ids @> excluded.message_ids
        returning order_id, coalesce(old.message_ids, '{}') as known
    ), fresh as (
        select message_id from item join added using (order_id) where message_id <> all(known)
    )
"""

# Retention: the row stays, for it is the order's; the ids go once nothing has come for so long.
FORGET = """
    update order_state set message_ids = '{}' where ctid = any(array(
        select ctid from order_state
        where subscriber = :subscriber and touched_at < :before and message_ids <> '{}'
        limit :limit for update skip locked))
"""


def make_store(write: Write) -> DedupStore:
    """No table more, but a row that grows: for orders of which few messages come."""
    return InTransaction(write, FRESH)
