-- What the databases hold, in PostgreSQL: one statement for each frame of the comparison.
-- `source` is the message or the record behind a row; it decides whether the row is late. In the
-- hops of the audit, what the receiver has not taken yet is late, too.
-- `compared` and `audited` hold the values that the two sides of a hop must agree on, as the text of
-- an array: two of them are the same text only if their values are.
-- `written_by` is the transaction that wrote a row; {rows} says which rows are read, {is_new} which
-- of them were written since the horizon, {tracking_rows} which of tracking have theirs among them,
-- {ranges} which of what retention has noted.

-- name: tracking
select
    subscriber,
    message_id,
    'message ' || message_id as source,
    tracking.topic,
    tracking.partition,
    tracking."offset",
    concat_ws('/', tracking.topic, tracking.partition, tracking."offset") as position,
    encode(value_sha256, 'hex') as sha256,
    audited_at is not null or audit_error is not null as marked,
    audit_error,
    handled_at,
    case when retry_at is null then 'message ' else 'unaudited ' end || message_id as audit_source,
    written_by,
    {is_new} as is_new
from tracking
left join audit_failure using (subscriber, message_id)
where {rows}

-- name: forgotten
-- What `pipeline retention` or `forget` has deleted from tracking: how much in each partition, and a digest of it.
select
    subscriber,
    concat_ws('/', topic, partition) as place,
    concat(messages, ' messages, digest ', digest) as contents
from forgotten

-- name: forgotten_range
select
    subscriber,
    topic,
    partition,
    lower(range) as start,
    upper(range) as stop
from forgotten_offsets, unnest(offsets) as range
where {ranges}

-- name: retired
-- What `pipeline retention` has deleted from the outbox: how much of each topic, and a digest of it.
select
    aggregate_type || '.events' as topic,
    null::text as source,
    written_before,
    concat(events, ' events, digest ', digest) as contents
from retired

-- name: retired_entry
-- What `pipeline retention` has deleted of the audit entries, by the partitions of their events.
select
    concat_ws('/', topic, partition) as place,
    concat(entries, ' entries, digest ', digest) as contents
from retired_entry

-- name: retired_entry_range
select topic, partition, lower(range) as start, upper(range) as stop
from retired_offsets, unnest(offsets) as range
where {ranges}

-- name: retired_letter
-- What `pipeline retention` has deleted of the dead letters, by the partitions of their records.
select
    concat_ws('/', topic, partition, nullif(subscriber, {default_subscriber})) as place,
    concat(letters, ' letters, digest ', digest) as contents
from retired_letter

-- name: retired_letter_range
select
    subscriber,
    topic,
    partition,
    lower(range) as start,
    upper(range) as stop
from retired_letter, unnest(offsets) as range
where {ranges}

-- name: fulfillment
-- `problem` where it and tracking know the message by other values.
select
    message_id,
    'message ' || message_id as source,
    encode(value_sha256, 'hex') as sha256,
    order_id,
    array[{compared_columns}]::text[]::text as compared,
    case when value_sha256 <> tracked then {other_value} end as problem,
    written_by,
    {is_new} as is_new
from fulfillment
left join lateral (
    select value_sha256 as tracked
    from tracking
    where tracking.subscriber = fulfillment.subscriber
        and tracking.message_id = fulfillment.message_id
        and ({tracking_rows})
    offset 0 -- keeps the planner from reading all of tracking for each range of this table
) as tracking on true
where {rows}

-- name: rejection
select
    subscriber,
    message_id,
    'message ' || message_id as source,
    encode(value_sha256, 'hex') as sha256,
    order_id,
    reason,
    fulfilled_by,
    case when value_sha256 <> tracked then {other_value} end as problem,
    written_by,
    {is_new} as is_new
from rejection
left join lateral (
    select value_sha256 as tracked
    from tracking
    where tracking.subscriber = rejection.subscriber
        and tracking.message_id = rejection.message_id
        and ({tracking_rows})
    offset 0 -- keeps the planner from reading all of tracking for each range of this table
) as tracking on true
where {rows}

-- name: dead_letter
-- `letter` tells the letters of two subscribers for one record apart, as the outbox's does.
select
    subscriber,
    topic,
    concat_ws('/', topic, partition, "offset") as position,
    concat_ws('/', 'record ' || topic, partition, "offset") as source,
    concat_ws('/', topic, partition, "offset", nullif(subscriber, {default_subscriber})) as letter,
    written_by,
    {is_new} as is_new
from dead_letter
where {rows}

-- name: letters
-- How many dead letters wait for somebody, and of how many it is known what became of them.
select
    subscriber,
    count(*) filter (where is_closed is not true) as open,
    count(*) filter (where is_closed) as closed
from dead_letter
left join dead_letter_acts using (subscriber, topic, partition, "offset")
group by subscriber

-- name: dropped
-- What a dedup store has dropped because it came out of sequence.
select
    subscriber,
    message_id,
    encode(value_sha256, 'hex') as sha256
from dropped

-- name: parked
-- The records that wait behind a dead letter of their key.
select
    subscriber,
    concat_ws('/', topic, partition, "offset") as position,
    concat_ws('/', 'record ' || topic, partition, "offset") as source
from parked

-- name: audit_failure
-- What the audit receiver has not taken, where no tracking row says so.
select
    subscriber,
    message_id,
    case when retry_at is null then reason end as audit_error,
    retry_at is null as is_refused
from audit_failure

-- name: repair
-- What was done about the findings of earlier runs.
select hop, id, act, planned_by, done_at::text
from repair
where done_at is not null

-- name: audit_entry
select
    audit_entry_id::text,
    idempotency_key,
    message_id,
    'message ' || message_id as source,
    array[{audited_columns}]::text as audited,
    array[
        idempotency_key,
        message_id,
        order_id,
        outcome,
        encode(body_sha256, 'hex')
    ]::text as compared,
    written_by,
    {is_new} as is_new
from audit_entry
where {rows}

-- name: outbox
-- The same for each outbox. An event's outcome follows from its type, its topic from its
-- aggregate type.
select
    event_id::text,
    event_type,
    aggregate_type || '.events' as topic,
    aggregate_id as key,
    encode(sha256(convert_to(payload::text, 'UTF8')), 'hex') as sha256,
    coalesce('message ' || (body->>'message_id'), 'record ' || aggregate_id) as source,
    body->>'message_id' as message_id,
    body->>'order_id' as order_id,
    body->>'reason' as reason,
    body->>'fulfilled_by' as fulfilled_by,
    body->>'value_sha256' as value_sha256,
    body->>'audit_entry_id' as audit_entry_id,
    occurred_at,
    concat_ws('/', aggregate_id, nullif(body->>'subscriber', {default_subscriber})) as letter,
    deciding.outcome,
    array[{audited_fields}]::text as audited,
    case aggregate_type
        when 'audit' then array[
            body->>'idempotency_key',
            body->>'message_id',
            body->>'order_id',
            body->>'outcome',
            body->>'body_sha256'
        ]
        else array[{compared_fields}]::text[]
    end::text as compared,
    written_by,
    {is_new} as is_new
from (
    select
        event_id,
        event_type,
        aggregate_type,
        aggregate_id,
        occurred_at,
        payload,
        payload::jsonb as body,
        written_by
    from outbox
    where {rows}
    offset 0 -- keeps the planner from parsing each payload once for every field
) as event
left join (values {outcomes}) as deciding (event_type, outcome) using (event_type)
