-- Landed rows that retention has deleted, and the messages of which nothing else is left, in Spark
-- SQL.

-- name: noted_sums
-- What the deleted rows added up to, of each kind, in the words of the frames that are left.
select id as place, concat(sum(`rows`), {words}, sum(digest)) as contents, sum(`rows`) as `rows`
from {noted}
where kind = {kind}
group by id

-- name: retired_message
-- Messages that the business's own rows know, and no tracking row, be it made again. A row that was
-- written later than the business's is of a message that came again after it was forgotten.
with told as (
    select message_id, sha256, coalesce(written_by, 0) as written_by
    from {business}
    where coalesce(written_by, 0) < {before}
)
select told.message_id, told.sha256, told.written_by
from told
left anti join (
    select told.message_id
    from told
    join {tracking} as tracking
        on tracking.message_id = told.message_id
        and coalesce(tracking.written_by, 0) <= told.written_by
) using (message_id)

-- name: retired_message_sum
-- What they add up to: the same digest as that which retention has noted.
select
    'messages' as place,
    concat(count(*), ' messages, digest ', coalesce(sum(digest), 0)) as contents,
    count(*) as `rows`,
    coalesce(sum(digest), bigint(0)) as digest
from (
    select cast(conv(left(sha2(message_id, 256), 15), 16, 10) as decimal(38, 0)) as digest
    from {retired_message}
)

-- name: apart
-- Rows of such messages take no part in the hops of messages: their other side is gone.
select
    frame.* except (message_id),
    if(is_retired is null, frame.message_id, null) as message_id
from {frame} as frame
left join (
    select message_id as retired_id, true as is_retired
    from {retired_message}
) on retired_id = frame.message_id

-- name: known_tracking
-- A record that comes again is known by the tracking row, or by the row of the business.
select message_id, sha256 from {tracking}
union
select message_id, sha256 from {retired_message}

-- name: input_holds
-- The records that must stay: young ones, and those that a tracking row was made from.
select topic, partition, offset
from {landed}
where timestamp >= {young}
union all
select topic, partition, offset
from {tracking}

-- name: event_holds
-- The events that must stay: young ones, those of a row that is there, and those of a message that
-- is not over.
select topic, partition, offset
from {landed} as landed
left anti join (
    select message_id
    from {retired_message}
) using (message_id)
union all
select topic, partition, offset
from {landed} as landed
left semi join {kept} as kept using (event_id)
union all
select topic, partition, offset
from {landed}
where timestamp >= {young}

-- name: first_holds
select topic, partition, min(offset) as first
from {holds}
group by topic, partition

-- name: note
-- What is deleted, in one row for each kind: as it landed, and as later reconciliations would have
-- made tracking rows, audit entries and outbox rows of it. And what was forgotten there and had
-- never landed, because somebody has accepted its loss.
with event as (
    select kafka_topic, event_id, key, min(sha256) as sha256
    from {landed}
    where is_event
    group by kafka_topic, event_id, key
),
hashed as (
    select 'forgotten' as kind, concat_ws('/', topic, partition) as id,
        sha2(concat_ws(' ', offset, message_id, sha256), 256) as hash
    from {forgotten}
    union all
    select 'lost', substring_index(position, '/', 2), sha2(position, 256)
    from {lost}
    union all
    select 'entry', place,
        sha2(concat_ws(' ', offset, idempotency_key, audit_entry_id, body_sha256), 256)
    from {entries}
    union all
    select 'event', kafka_topic, sha2(concat_ws(' ', event_id, key, sha256), 256)
    from event
    left anti join {remaining} using (kafka_topic, event_id)
    union all
    select 'record', concat_ws('/', topic, partition),
        sha2(concat_ws(' ', offset, key, sha256), 256)
    from {landed}
)
select
    kind,
    id,
    count(*) as `rows`,
    sum(cast(conv(left(hash, 15), 16, 10) as decimal(38, 0))) as digest
from hashed
group by kind, id
