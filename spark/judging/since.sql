-- What has landed since the horizon, in Spark SQL.

-- name: again
-- Positions before the horizon that are judged again: of rows that have changed, and of rows that
-- were lost or doubled.
select topic, partition, offset
from {changed}
union
select
    split_part(id, '/', 1) as topic,
    int(split_part(id, '/', 2)) as partition,
    bigint(split_part(id, '/', 3)) as offset
from {open_ids}
where hop = {landed_hop}

-- name: with_earlier
-- What has landed since, with the earlier rows of what is open. The rows kept of these are as they
-- were; those at positions that are judged again are read again.
select * from {since}
union all
select * from {kept} left anti join {again} using (topic, partition, offset)
union all
select * from {earlier} left semi join {again} using (topic, partition, offset)

-- name: all_expected
-- The earlier rows must have been there, too.
select position, source from {expected}
union
select position, string(null) from {earlier_rows}
union
select concat_ws('/', topic, partition, offset), string(null) from {again}

-- name: still_landed
-- The events of earlier outbox rows that were matched: each of them has landed.
select
    outbox.topic,
    outbox.topic as kafka_topic,
    int(null) as partition,
    bigint(null) as offset,
    timestamp(null) as timestamp,
    string(null) as position,
    key,
    sha256,
    bigint(null) as row,
    false as is_input,
    true as is_event,
    message_id,
    event_id,
    source,
    string(null) as value
from {outbox} as outbox
left anti join {open_ids} as open_ids
    on open_ids.id = outbox.event_id and open_ids.hop like {publish_hops}

-- name: suspects
-- What does not look right by itself, what was wrong, and what was open and is not seen now.
select hop, id, sources
from {judged}
where outcome not in ('matched', 'late', 'parked', 'not checked')
union all
select hop, id, sources
from {open_ids} as open_ids
where outcome not in ('late', 'parked')
    or not exists (
        select 1
        from {judged} as judged
        where judged.hop = open_ids.hop and judged.id = open_ids.id
    )

-- name: newly_alone
-- What has no other side, and was not open before.
select hop, id
from {judged}
left anti join {open_ids} using (hop, id)
where outcome in ('missing', 'extra')
