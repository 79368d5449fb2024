"""A tracking table: one row for each message that was handled. The default."""

from service.dedup import DedupStore, InTransaction, Write

# Insert first, ask never: who was first is decided by the primary key.
FRESH = """
    fresh as (
        insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
        select :subscriber, message_id, value_sha256, topic, partition, "offset"
        from item where is_message order by message_id
        on conflict do nothing returning message_id)"""

# Retention, so many rows at a time: the oldest lie together, and rows that somebody holds are left for the next time.
FORGET = """
    delete from tracking where ctid = any(array(select ctid from tracking
        where subscriber = :subscriber and handled_at < :before limit :limit for update skip locked))"""


def make_store(write: Write) -> DedupStore:
    """It forgets nothing by itself; what is forgotten, or lost with the table, is fresh again."""
    return InTransaction(write, FRESH)
