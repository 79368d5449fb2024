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
left join dead_letter_acts using (subscriber, topic, partition, "offset")
where subscriber = %(subscriber)s
    and starts_with(kind, %(kind)s)
    and position(%(reason)s in reason) > 0
    and (%(since)s::timestamptz is null or buried_at >= %(since)s)
    and (%(closed)s or is_closed is not true)
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
    ) as payload,
    acts,
    (
        select count(*)
        from held_key
        join parked using (subscriber, key_sha256)
        where held_key.subscriber = dead_letter.subscriber
            and held_key.topic = dead_letter.topic
            and held_key.partition = dead_letter.partition
            and held_key."offset" = dead_letter."offset"
    ) as waiting
from dead_letter
left join dead_letter_acts using (subscriber, topic, partition, "offset")
where subscriber = %(subscriber)s
    and (topic, partition, "offset") = (%(topic)s, %(partition)s, %(offset)s)

-- name: chosen
-- The open letters that are meant, the oldest first. One that a replay has left is sent again only
-- if it is named: nothing goes in circles.
select topic, partition, "offset", kind, reason
from dead_letter
left join dead_letter_acts using (subscriber, topic, partition, "offset")
where subscriber = %(subscriber)s
    and starts_with(kind, %(kind)s)
    and case when %(exact)s then reason = %(reason)s else position(%(reason)s in reason) > 0 end
    and %(topic)s in ('', topic)
    and (%(since)s::timestamptz is null or buried_at >= %(since)s)
    and (
        %(positions)s::text[] is null
        or concat_ws('/', topic, partition, "offset") = any(%(positions)s)
    )
    and is_closed is not true
    and (
        %(again)s
        or %(positions)s::text[] is not null
        or not exists (
            select
            from dead_letter_act as act
            where act.subscriber = dead_letter.subscriber
                and split_part(act.topic, '@', 1) = split_part(dead_letter.topic, '@', 1)
                and act.sent_partition = dead_letter.partition
                and act.sent_offset = dead_letter."offset"
                and act.acted_at <= dead_letter.buried_at
        )
    )
order by buried_at nulls first, topic, partition, "offset"

-- name: plan
insert into dead_letter_act (subscriber, topic, partition, "offset", act, why, acted_by)
values (%(subscriber)s, %(topic)s, %(partition)s, %(offset)s, %(act)s, %(why)s, %(by)s)
returning id, acted_at

-- name: sent
update dead_letter_act
set sent_partition = %(partition)s, sent_offset = %(offset)s
where id = %(id)s

-- name: outcome
-- What has become of a record that was sent: dead once more, or what the business knows of it.
select
    (
        select reason
        from dead_letter
        where subscriber = %(subscriber)s
            and split_part(topic, '@', 1) = %(topic)s
            and (partition, "offset") = (%(partition)s, %(offset)s)
            and buried_at >= %(acted_at)s
    ) as dead_again,
    exists (
        select
        from fulfillment
        where subscriber = %(subscriber)s and message_id = %(message_id)s
    ) as is_accepted,
    exists (
        select
        from rejection
        where subscriber = %(subscriber)s and message_id = %(message_id)s
    ) as is_rejected
