-- The totals of business batches ("groups" here) as Spark sums them, beside those that were
-- published.

-- name: batch
-- What Postgres knows of groups, at the moment of the snapshot: how far each partition is summed,
-- which groups are open, what was published, and which records are dead letters. A completion of
-- nothing is a dead letter too, but it was read: it closes nothing.
select
    'position' as kind,
    concat_ws('/', topic, partition) as place,
    "offset",
    null as event_id,
    null as compared
from batch_position
where topic = '{input_topic}'
union all
select 'open', concat_ws('/', topic, partition, "offset"), null, null, null
from open_batch
union all
select 'dead letter', concat_ws('/', topic, partition, "offset"), null, null, null
from dead_letter
where topic = '{input_topic}' and reason <> 'complete: no batch of this key is open'
union all
select
    event_type,
    concat_ws('/', begin->>'topic', begin->>'partition', begin->>'offset'),
    null,
    event_id::text,
    concat_ws(' ', aggregate_id, payload->>'items', payload->>'units', payload->>'amount')
from outbox
cross join lateral (select payload->'begin' as begin) as place
where aggregate_type = 'batch-total' and begin->>'topic' = '{input_topic}'

-- name: batch_sum
-- In Spark SQL. A message counts where its id comes first. A group ends with a completion, and the
-- next message begins another. Not judged: what is not summed yet, what waits for its replay, and a
-- group that is still open.
with message as (
    select
        landed.topic,
        landed.partition,
        landed.offset,
        key,
        message_id,
        coalesce(get_json_object(value, '$.complete') = 'true', false) as complete,
        cast(get_json_object(value, '$.units') as bigint) as units,
        cast(get_json_object(value, '$.amount') as decimal(20, 2)) as amount
    from {landed} as landed
    join {batch} as summed
        on summed.kind = 'position'
        and summed.place = concat_ws('/', landed.topic, landed.partition)
        and landed.offset < summed.offset
    left anti join {batch} as dead_letter
        on dead_letter.kind = 'dead letter'
        and dead_letter.place = position
),
first as (
    select *, row_number() over (partition by message_id order by partition, offset) as number
    from message
),
member as (
    select
        *,
        count_if(complete) over (
            partition by partition, key
            order by offset
            rows between unbounded preceding and 1 preceding
        ) as completions
    from first
    where number = 1
),
total as (
    select
        concat_ws('/', topic, partition, min(offset)) as place,
        concat_ws(' ', key, count_if(not complete), sum(units), sum(amount)) as compared
    from member
    group by topic, partition, key, completions
    having count_if(complete) = 1 and count_if(not complete) > 0
)
select total.*
from total
left anti join {batch} as open
    on open.kind = 'open'
    and open.place = total.place
