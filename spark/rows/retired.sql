-- What retention has deleted, made again from the events that landed, in Spark SQL.

-- name: not_retired
-- The events whose entries are not retired; a stretch has a hundred thousand offsets.
select landed.*
from {landed} as landed
left anti join {retired} as retired
    on retired.topic = landed.topic
    and retired.partition = landed.partition
    and retired.stretch = landed.offset div 100000
    and landed.offset >= retired.start
    and landed.offset < retired.stop

-- name: retired_entry
-- Audit entries, by the positions of their events. What an entry had to agree on with other rows is
-- gone with it.
with retired as (
    select topic, partition, offset
    from {ranges}
    lateral view explode(sequence(start, stop - 1, 10000)) as chunk
    lateral view explode(sequence(chunk, least(chunk + 10000, stop) - 1)) as offset
),
event as (
    select topic, partition, offset, string(value) as body
    from {tables}
    left semi join retired using (topic, partition, offset)
)
select
    concat_ws('/', topic, partition) as place,
    offset,
    get_json_object(body, '$.audit_entry_id') as audit_entry_id,
    get_json_object(body, '$.idempotency_key') as idempotency_key,
    get_json_object(body, '$.body_sha256') as body_sha256,
    get_json_object(body, '$.message_id') as message_id,
    concat('message ', message_id) as source,
    string(null) as audited,
    string(null) as compared
from event

-- name: retired_entry_landed
-- What has landed of them: the same digest as in revision 0005 of the audit database.
with hashed as (
    select
        place,
        sha2(concat_ws(' ', offset, idempotency_key, audit_entry_id, body_sha256), 256) as hash
    from {entries}
),
summed as (
    select
        place,
        bigint(1) as `rows`,
        cast(conv(left(hash, 15), 16, 10) as decimal(38, 0)) as digest
    from hashed
    union all
    select id, `rows`, digest from {noted} where kind = 'entry'
)
select place, concat(sum(`rows`), ' entries, digest ', sum(digest)) as contents
from summed
group by place

-- name: retired_letter
-- Dead letters, by the positions of their records, which are the keys of their events.
with event as (
    select distinct
        split_part(key, '/', 1) as topic,
        int(split_part(key, '/', 2)) as partition,
        bigint(split_part(key, '/', 3)) as offset,
        coalesce(get_json_object(body, '$.subscriber'), {default_subscriber}) as subscriber,
        get_json_object(body, '$.kind') as kind
    from (
        select string(key) as key, string(value) as body
        from {tables}
        where substring_index(topic, '@', 1) = {dead_letter_topic}
    )
)
select
    subscriber,
    topic,
    partition,
    offset,
    kind,
    concat_ws('/', topic, partition, offset) as position,
    concat_ws('/', 'record ' || topic, partition, offset) as source,
    concat_ws('/', topic, partition, offset, nullif(subscriber, {default_subscriber})) as letter,
    is_own,
    {database} as database
from event
join {ranges} as ranges using (subscriber, topic, partition)
where offset >= start and offset < stop

-- name: retired_letter_landed
-- What has landed of them: the same digest as in revision 0020.
select place, concat(count(*), ' letters, digest ', sum(digest)) as contents
from (
    select
        concat_ws('/', topic, partition, nullif(subscriber, {default_subscriber})) as place,
        cast(
            conv(left(sha2(concat_ws(' ', offset, kind), 256), 15), 16, 10)
            as decimal(38, 0)
        ) as digest
    from {letters}
)
group by place

-- name: retired_copy
-- Where the first copy of each event is whose outbox row was deleted: the transaction that wrote it
-- also wrote the rows of its message or record, which are still there, or are forgotten.
with written as (
    select source, coalesce(written_by, 0) as written_by, {database} as database
    from {tracking}
    union all
    select source, coalesce(written_by, 0) as written_by, {database} as database
    from {dead_letter}
    union all
    select source, coalesce(written_by, 0) as written_by, {database} as database
    from {fulfillment}
    union all
    select source, coalesce(written_by, 0) as written_by, {database} as database
    from {rejection}
    union all
    select source, coalesce(written_by, 0) as written_by, {audit_database} as database
    from {audit_entry}
),
old as (
    select retired.topic, written.source
    from written
    join {retired} as retired
        on retired.database = written.database and written.written_by < retired.written_before
    group by retired.topic, written.source
),
copies as (
    select
        landed.*,
        row_number() over (
            partition by landed.kafka_topic, event_id
            order by landed.topic, partition, offset
        ) as copy
    from {landed} as landed
    join old
        on old.topic = landed.kafka_topic
        and old.source = if(
            landed.kafka_topic = {dead_letter_topic}, concat('record ', landed.key), landed.source
        )
    left anti join {outbox} using (event_id)
    where is_event
)
select *
from copies
where copy = 1

-- name: retired_event
-- As snapshot.sql reads them. The values that other rows had to agree on are gone with the row.
with described as (
    select
        topic,
        partition,
        offset,
        string(value) as body,
        string(get(filter(headers, header -> header.key = 'event_type'), 0).value) as event_type
    from {tables}
)
select
    event_id,
    event_type,
    kafka_topic as topic,
    key,
    sha256,
    source,
    message_id,
    get_json_object(body, '$.order_id') as order_id,
    get_json_object(body, '$.reason') as reason,
    get_json_object(body, '$.fulfilled_by') as fulfilled_by,
    get_json_object(body, '$.value_sha256') as value_sha256,
    get_json_object(body, '$.audit_entry_id') as audit_entry_id,
    timestamp as occurred_at,
    concat_ws(
        '/', key, nullif(get_json_object(body, '$.subscriber'), {default_subscriber})
    ) as letter,
    from_json({outcomes}, 'map<string, string>')[event_type] as outcome,
    string(null) as audited,
    string(null) as compared
from {retired_copy}
join described using (topic, partition, offset)

-- name: fulfillment
-- What a row had to agree on with an event that is gone is not compared, by digests neither.
select fulfillment.* except (compared), if(is_retired is null, compared, null) as compared
from {fulfillment} as fulfillment
left join (
    select distinct message_id, true as is_retired
    from {retired_event}
    where outcome is not null
) using (message_id)

-- name: audit_entry
select
    entry.* except (compared, audited),
    if(is_event_retired is null, compared, null) as compared,
    if(is_decision_retired is null, audited, null) as audited
from {audit_entry} as entry
left join (
    select distinct message_id, true as is_decision_retired
    from {retired_event}
    where outcome is not null
) using (message_id)
left join (
    select distinct audit_entry_id, true as is_event_retired
    from {retired_event}
) using (audit_entry_id)

-- name: retired_landed
-- What has landed of it: the same digest as in migrations/retired.py.
with summed as (
    select
        topic,
        bigint(1) as `rows`,
        cast(
            conv(left(sha2(concat_ws(' ', event_id, key, sha256), 256), 15), 16, 10)
            as decimal(38, 0)
        ) as digest
    from {retired_event}
    union all
    select id, `rows`, digest from {noted} where kind = 'event'
)
select
    topic,
    concat(sum(`rows`), ' events, digest ', sum(digest)) as contents,
    string(null) as source
from summed
group by topic
