-- What is old in the databases, and how it is deleted, in PostgreSQL.

-- name: outbox
-- An event that is too young, and whatever was written by its transaction or a later one, stays.
-- So do those of open letters, whatever their age.
with boundary as (
    select coalesce(least(%(first)s::bigint, min(coalesce(written_by, 0))), %(first)s::bigint)
        as before
    from outbox
    where event_type = any(%(types)s)
        and occurred_at >= now() - make_interval(secs => %(age)s)
),
event as (
    select
        boundary.before,
        outbox.event_id,
        outbox.occurred_at,
        coalesce(outbox.written_by, 0) < boundary.before as is_judged,
        outbox.event_id = any(%(open)s::uuid[]) as is_open,
        outbox.occurred_at < now() - make_interval(secs => %(age)s) as is_old
    from boundary
    left join outbox on outbox.event_type = any(%(types)s)
)
select
    before,
    count(event_id) filter (where is_judged and not is_open),
    to_char(
        min(occurred_at) filter (where is_judged and not is_open),
        'YYYY-MM-DD HH24:MI:SS'
    ),
    count(event_id) filter (where is_old and not is_judged),
    count(event_id) filter (where is_judged and is_open)
from event
group by before

-- name: open_events
-- The events of dead letters that are open: they have the bytes that somebody may send again.
select event_id
from outbox
where event_type = 'record-dead-lettered' and is_open_letter(event_id)

-- name: retire
select events, last from retire(%(types)s, %(before)s, %(most)s, %(behind)s::tid)

-- name: tracking
-- Why old rows stay; of several reasons, the first.
with old as (
    select
        handled_at,
        "offset" >= coalesce(
            (%(log_starts)s::jsonb->>concat_ws('/', topic, partition))::bigint,
            0
        ) as is_in_kafka,
        audited_at is null or audit_error is not null or exists (
            select from audit_failure as failure
            where failure.subscriber = tracking.subscriber
                and failure.message_id = tracking.message_id
        ) as is_unaudited,
        coalesce(written_by, 0) >= %(before)s as is_open,
        coalesce(written_by, 0) as written_by
    from tracking
    where subscriber = %(subscriber)s
        and handled_at < now() - make_interval(secs => %(age)s)
)
select
    now() - make_interval(secs => %(age)s),
    count(*) filter (where not (is_in_kafka or is_unaudited or is_open)),
    to_char(
        min(handled_at) filter (where not (is_in_kafka or is_unaudited or is_open)),
        'YYYY-MM-DD HH24:MI:SS'
    ),
    count(*) filter (where is_in_kafka),
    count(*) filter (where is_unaudited and not is_in_kafka),
    count(*) filter (where is_open and not is_unaudited and not is_in_kafka),
    coalesce(max(written_by) filter (where not (is_in_kafka or is_open)), -1) + 1
from old

-- name: forget
select count(*), max(place)
from forget_tracking(
    %(subscriber)s,
    %(handled_before)s,
    %(judged)s::jsonb,
    %(most)s,
    %(behind)s::tid
) as place

-- name: letters
-- Why old dead letters stay; of several reasons, the first.
with old as (
    select
        buried_at,
        is_closed is not true as is_open,
        last_at >= now() - make_interval(secs => %(age)s) as is_young,
        "offset" >= coalesce(
            (%(log_starts)s::jsonb->>concat_ws('/', topic, partition))::bigint,
            0
        ) as is_in_kafka,
        coalesce(written_by, 0) >= %(before)s as is_not_judged,
        coalesce(written_by, 0) as written_by
    from dead_letter
    left join dead_letter_acts using (subscriber, topic, partition, "offset")
    where subscriber = %(subscriber)s
        and (buried_at is null or buried_at < now() - make_interval(secs => %(age)s))
),
judged as (
    select *, not (is_open or is_young or is_in_kafka or is_not_judged) as goes
    from old
)
select
    now() - make_interval(secs => %(age)s),
    count(*) filter (where goes),
    to_char(min(buried_at) filter (where goes), 'YYYY-MM-DD HH24:MI:SS'),
    count(*) filter (where is_open),
    count(*) filter (where is_young and not is_open),
    count(*) filter (where is_in_kafka and not (is_open or is_young)),
    count(*) filter (where is_not_judged and not (is_open or is_young or is_in_kafka)),
    coalesce(max(written_by) filter (where goes), -1) + 1
from judged

-- name: retire_letters
select retire_letters(%(subscriber)s, %(closed_before)s, %(judged)s::jsonb, %(most)s)

-- name: retired_offsets
-- The entries that are retired already, by the positions of their events.
select topic, partition, stretch, lower(range), upper(range)
from retired_offsets, unnest(offsets) as range

-- name: entries
-- Which of these entries are there, and whether they are judged.
select idempotency_key, coalesce(written_by, 0) < %(before)s, coalesce(written_by, 0)
from audit_entry
where idempotency_key = any(%(keys)s)

-- name: retire_entries
select retire_entries(%(landed)s::json, %(before)s)

-- name: drop_forgotten_offsets
select drop_forgotten_offsets(%(subscriber)s, %(stops)s::jsonb)

-- name: drop_retired_offsets
select drop_retired_offsets(%(stops)s::jsonb)

-- name: other_subscribers
select subscriber from tracking where subscriber <> %(subscriber)s
union
select subscriber from forgotten where subscriber <> %(subscriber)s
order by subscriber
