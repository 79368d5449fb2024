-- The dead letters of a subscriber, in PostgreSQL.

-- name: counts
-- How many there are of each reason, the most first, and where one of them is.
select
    kind,
    reason,
    topic,
    count(*) as letters,
    min(buried_at) as first_at,
    max(buried_at) as last_at,
    (array_agg(concat_ws('/', topic, partition, "offset") order by buried_at desc nulls last))[1]
        as latest
from dead_letter
where subscriber = %(subscriber)s
    and starts_with(kind, %(kind)s)
    and position(%(reason)s in reason) > 0
    and (%(since)s::timestamptz is null or buried_at >= %(since)s)
group by kind, reason, topic
order by letters desc, kind, reason

-- name: letter
-- One of them, with what the outbox still has of it.
select
    kind,
    reason,
    buried_at,
    (
        select payload
        from outbox
        where event_type = 'record-dead-lettered'
            and aggregate_id = concat_ws('/', %(topic)s::text, %(partition)s, %(offset)s)
            and payload->>'subscriber' = %(subscriber)s
    ) as payload
from dead_letter
where subscriber = %(subscriber)s
    and (topic, partition, "offset") = (%(topic)s, %(partition)s, %(offset)s)
