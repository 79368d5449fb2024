"""The default store, a tracking table: one row for each message that was handled."""

from service.dedup import DedupStore, InTransaction, Write

# Insert first, ask never: the primary key decides who was first. A message that was forgotten and
# comes again is remembered again; it was audited before it was forgotten.
FRESH = """
remembered as (
    insert into tracking (
        subscriber, message_id, value_sha256, topic, partition, "offset", audited_at
    )
    select :subscriber, message_id, value_sha256, topic, partition, "offset", now()
    from repeated
    order by message_id
    on conflict do nothing
),

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

# What `pipeline forget` does to it, whatever a reconciliation says; `pipeline retention` calls the
# same function with what is judged. A message whose audit entry was not taken stays, because the
# receiver's answer is noted in its row. What is deleted is noted, so that it does not seem lost.
FORGET = "select from forget_tracking(:subscriber, :before, null, :limit, '(0,0)')"


def make_store(write: Write) -> DedupStore:
    """Return a store that forgets nothing by itself."""
    return InTransaction(write, FRESH)
