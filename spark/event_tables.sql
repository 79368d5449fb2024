-- name: event
-- Landed events of one type as rows with typed columns. A record without an id is no event of
-- ours. A value that is not what the contract says keeps its text in `unreadable`.
with record as (
    select
        *,
        string(get(filter(headers, header -> header.key = 'id'), 0).value) as event_id,
        string(get(filter(headers, header -> header.key = 'event_type'), 0).value) as event_type,
        string(get(filter(headers, header -> header.key = 'ce_time'), 0).value) as ce_time
    from {landed}
),
event as (
    select
        *,
        try_cast(ce_time as timestamp) as occurred_at,
        from_json(
            make_valid_utf8(string(value)),
            {body_type},
            map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', 'unreadable')
        ) as body
    from record
    where event_id is not null and event_type = {event_type}
)
select event_id, occurred_at, body.*, topic, partition, offset
from event

-- name: first_event
-- Each event once: what comes first on its topic.
select * except (nth)
from (
    select *, row_number() over (partition by event_id order by topic, partition, offset) as nth
    from {event}
)
where nth = 1
