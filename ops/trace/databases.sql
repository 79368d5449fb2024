-- What the databases know of an order, a message or a record, in PostgreSQL.

-- name: message_ids
-- Of an order: the message that has won it, and those that were rejected.
select message_id
from tracking
where subscriber = %(subscriber)s and message_id = %(id)s

union

select message_id
from tracking
where subscriber = %(subscriber)s
    and (topic, partition, "offset") = (%(topic)s, %(partition)s, %(offset)s)

union

select message_id
from fulfillment
where order_id = %(id)s

union

select message_id
from fulfillment
where message_id = %(id)s

union

select message_id
from rejection
where subscriber = %(subscriber)s and %(id)s in (order_id, message_id)

-- name: tracking
select topic, partition, "offset", handled_at, audited_at, audit_error, reason as audit_failure
from tracking
left join audit_failure using (subscriber, message_id, topic, partition, "offset")
where subscriber = %(subscriber)s and message_id = %(message_id)s

-- name: fulfillment
select
    order_id,
    fulfillment_id::text as fulfillment_id,
    coalesce(written_by, 0) as written_by
from fulfillment
where subscriber = %(subscriber)s and message_id = %(message_id)s

-- name: rejection
select order_id, reason, fulfilled_by, coalesce(written_by, 0) as written_by
from rejection
where subscriber = %(subscriber)s and message_id = %(message_id)s

-- name: events
select
    event_id::text as event_id,
    event_type,
    aggregate_type || '.events' as topic,
    traceparent,
    occurred_at
from outbox
where event_id = any(%(event_ids)s::uuid[])
order by seq

-- name: entry
select
    audit_entry_id::text as audit_entry_id,
    idempotency_key,
    coalesce(written_by, 0) as written_by
from audit_entry
where idempotency_key = %(idempotency_key)s

-- name: letters
-- The records of this key, with this message id, or at this position.
select
    dead_letter.topic,
    dead_letter.partition,
    dead_letter."offset",
    dead_letter.kind,
    dead_letter.reason,
    buried_at,
    event_id::text as event_id,
    traceparent,
    occurred_at,
    coalesce(dead_letter.written_by, 0) as written_by,
    acts
from outbox
join dead_letter
    on dead_letter.subscriber = %(subscriber)s
    and aggregate_id = concat_ws(
        '/', dead_letter.topic, dead_letter.partition, dead_letter."offset"
    )
left join dead_letter_acts
    on dead_letter_acts.subscriber = dead_letter.subscriber
    and dead_letter_acts.topic = dead_letter.topic
    and dead_letter_acts.partition = dead_letter.partition
    and dead_letter_acts."offset" = dead_letter."offset"
where event_type = 'record-dead-lettered'
    and (
        aggregate_id = %(id)s
        or payload->>'key' = %(id_as_base64)s
        or exists (
            select
            from json_array_elements(payload->'headers') as header
            where header->>'name' = 'message_id' and header->>'value' = %(id_as_base64)s
        )
    )
order by outbox.seq

-- name: parked
-- The records that wait behind a dead letter: of this key, with this message id, or at this position.
select
    parked.topic,
    parked.partition,
    parked."offset",
    parked_at,
    (
        select concat_ws('/', topic, partition, "offset")
        from held_key
        where held_key.subscriber = parked.subscriber and held_key.key_sha256 = parked.key_sha256
        order by held_at
        limit 1
    ) as letter
from parked
where subscriber = %(subscriber)s
    and (
        concat_ws('/', topic, partition, "offset") = %(id)s
        or key_sha256 = sha256(convert_to(%(id)s, 'UTF8'))
        or exists (
            select
            from json_array_elements(headers::json) as header
            where header->>0 = 'message_id' and header->>1 = %(id_as_base64)s
        )
    )
order by id

-- name: is_retired
-- Whether retention has deleted the events of a topic that this transaction has written: it had
-- seen that they were published, landed and matched.
select exists (
    select
    from retired
    where aggregate_type || '.events' = %(topic)s and written_before > %(written_by)s
) as is_retired

-- name: slot
select
    active,
    wal_status,
    pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint as bytes_behind
from pg_replication_slots
where slot_name = %(slot)s
