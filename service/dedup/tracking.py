"""The default store, a tracking table: one row for each message that was handled."""

from service.dedup import DedupStore, InTransaction, Write

# Insert first, ask never: the primary key decides who was first.
FRESH = """
fresh as (
    insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
    select :subscriber, message_id, value_sha256, topic, partition, "offset"
    from item
    where is_message
    order by message_id
    on conflict do nothing
    returning message_id
)
"""

# Retention, a limited number of rows at a time: the oldest are next to each other, and rows that
# somebody holds are left for the next time. One whose audit entry is still to be sent stays: the
# receiver's answer is noted in it.
FORGET = """
delete from tracking
where ctid = any(array(
    select ctid
    from tracking
    where subscriber = :subscriber
        and handled_at < :before
        and not exists (
            select from audit_failure as failure
            where failure.subscriber = tracking.subscriber
                and failure.message_id = tracking.message_id
        )
    limit :limit
    for update skip locked
))
"""


def make_store(write: Write) -> DedupStore:
    """Return a store that forgets nothing by itself; what is deleted from it is fresh again."""
    return InTransaction(write, FRESH)
