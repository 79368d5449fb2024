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

# Retention, a limited number of rows at a time: the oldest are next to each other, and rows that
# somebody holds are left for the next time. One whose audit entry was not taken stays: the
# receiver's answer is noted in it. What is deleted is noted, so that it does not seem to be lost.
FORGET = """
with deleted as (
    delete from tracking
    where ctid = any(array(
        select ctid
        from tracking
        where subscriber = :subscriber
            and handled_at < :before
            and audit_error is null
            and not exists (
                select from audit_failure as failure
                where failure.subscriber = tracking.subscriber
                    and failure.message_id = tracking.message_id
            )
        limit :limit
        for update skip locked
    ))
    returning *
),
hashed as (
    select
        *,
        sha256(convert_to(
            concat_ws(' ', "offset", message_id, encode(value_sha256, 'hex')),
            'UTF8'
        )) as hash
    from deleted
    where not exists ( -- forgotten, handled again, forgotten again: the first time counts
        select from forgotten
        where subscriber = deleted.subscriber
            and topic = deleted.topic
            and partition = deleted.partition
            and offsets @> deleted."offset"
    )
),
noted as (
    insert into forgotten (subscriber, topic, partition, offsets, messages, digest)
    select
        subscriber,
        topic,
        partition,
        range_agg(int8range("offset", "offset", '[]')),
        count(*),
        sum(('x' || left(encode(hash, 'hex'), 15))::bit(60)::bigint)
    from hashed
    group by subscriber, topic, partition
    on conflict (subscriber, topic, partition) do update
    set offsets = forgotten.offsets + excluded.offsets,
        messages = forgotten.messages + excluded.messages,
        digest = forgotten.digest + excluded.digest,
        forgotten_at = now()
)
select from deleted
"""


def make_store(write: Write) -> DedupStore:
    """Return a store that forgets nothing by itself."""
    return InTransaction(write, FRESH)
