-- The dead letters of a subscriber, in PostgreSQL.

-- name: counts
-- How many there are of each reason, the most first, and where one of them is.
select
    kind,
    reason,
    topic,
    count(*) as letters,
    count(*) filter (where is_on_its_way and not is_closed) as on_their_way,
    min(buried_at) as first_at,
    max(buried_at) as last_at,
    (array_agg(concat_ws('/', topic, partition, "offset") order by buried_at desc nulls last))[1]
        as latest
from dead_letter
left join dead_letter_acts using (subscriber, topic, partition, "offset")
where subscriber = %(subscriber)s
    and starts_with(kind, %(kind)s)
    and position(%(reason)s in reason) > 0
    and %(topic)s in ('', topic, split_part(topic, '@', 1))
    and (%(since)s::timestamptz is null or buried_at >= %(since)s)
    and (%(until)s::timestamptz is null or buried_at is null or buried_at < %(until)s)
    and (%(closed)s or is_closed is not true)
group by kind, reason, topic
order by letters desc, kind, reason

-- name: letters
-- Some of them, with what the outbox still has of each.
select
    letter.topic,
    letter.partition,
    letter."offset",
    letter.kind,
    letter.reason,
    letter.buried_at,
    outbox.payload,
    (
        select acts
        from dead_letter_acts as done
        where done.subscriber = letter.subscriber
            and done.topic = letter.topic
            and done.partition = letter.partition
            and done."offset" = letter."offset"
    ) as acts,
    (
        select count(*)
        from held_key
        join parked using (subscriber, key_sha256)
        where held_key.subscriber = letter.subscriber
            and held_key.topic = letter.topic
            and held_key.partition = letter.partition
            and held_key."offset" = letter."offset"
    ) as waiting
from unnest(
    %(topics)s::text[],
    %(partitions)s::integer[],
    %(offsets)s::bigint[],
    %(event_ids)s::uuid[]
) as wanted (topic, partition, "offset", event_id)
join dead_letter as letter
    on letter.subscriber = %(subscriber)s
    and letter.topic = wanted.topic
    and letter.partition = wanted.partition
    and letter."offset" = wanted."offset"
left join outbox on outbox.event_id = wanted.event_id

-- name: acts
-- What was done about one: that is kept when retention deletes the letter.
select acts
from dead_letter_acts
where subscriber = %(subscriber)s
    and topic = %(topic)s
    and partition = %(partition)s
    and "offset" = %(offset)s

-- name: chosen
-- The open letters that are meant, the oldest first. One that a replay has left is sent again only
-- if that is asked for, and one that is on its way only if it is named: nothing goes in circles.
select topic, partition, "offset"
from dead_letter
left join dead_letter_acts using (subscriber, topic, partition, "offset")
where subscriber = %(subscriber)s
    and starts_with(kind, %(kind)s)
    and case when %(exact)s then reason = %(reason)s else position(%(reason)s in reason) > 0 end
    and %(topic)s in ('', topic, split_part(topic, '@', 1))
    and (%(since)s::timestamptz is null or buried_at >= %(since)s)
    and (%(until)s::timestamptz is null or buried_at is null or buried_at < %(until)s)
    and (
        %(positions)s::text[] is null
        or concat_ws('/', topic, partition, "offset") = any(%(positions)s)
    )
    and is_closed is not true
    and (is_on_its_way is not true or %(positions)s::text[] is not null)
    and (
        %(again)s
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

-- name: copies
-- Which of these events are of records that a replay has sent. It may have been killed before it
-- could note where the record went.
select event_id::text as event_id
from outbox
where event_id = any(%(event_ids)s::uuid[])
    and exists (
        select
        from json_array_elements(payload->'headers') as header
        where header->>'name' = %(header)s
    )

-- name: plan
insert into dead_letter_act (
    subscriber, topic, partition, "offset", act, why, acted_by, message_id
)
values (
    %(subscriber)s,
    %(topic)s,
    %(partition)s,
    %(offset)s,
    %(act)s,
    %(why)s,
    %(by)s,
    %(message_id)s
)
returning id

-- name: sent
update dead_letter_act
set sent_partition = %(partition)s, sent_offset = %(offset)s
where id = %(id)s

-- name: sent_partitions
-- Where the records are of which it is not known what became of them.
select distinct sent_partition as partition
from dead_letter_act
where subscriber = %(subscriber)s and sent_offset is not null and outcome is null

-- name: ended
-- What has become of them, as far as the service is past them: dead once more, or what the business
-- knows of their messages.
select
    act.id,
    act.topic,
    act.partition,
    act."offset",
    (
        select reason
        from dead_letter as again
        where again.subscriber = act.subscriber
            and again.topic = any(
                array(select name from input_topic where input_topic.topic = %(topic)s)
                || %(topic)s::text
            )
            and again.partition = act.sent_partition
            and again."offset" = act.sent_offset
            and again.buried_at >= act.acted_at
    ) as dead_again,
    exists (
        select
        from fulfillment
        where fulfillment.subscriber = act.subscriber and fulfillment.message_id = act.message_id
    ) as is_accepted,
    exists (
        select
        from rejection
        where rejection.subscriber = act.subscriber and rejection.message_id = act.message_id
    ) as is_rejected
from dead_letter_act as act
where act.subscriber = %(subscriber)s
    and sent_offset < (%(committed)s::jsonb->>sent_partition::text)::bigint
    and outcome is null
order by act.id

-- name: outcome
update dead_letter_act set outcome = %(outcome)s where id = %(id)s
