-- What the page asks PostgreSQL. It looks at the last minute, which an index finds in any table.

-- name: tables
-- About how many rows each table has: the server's own running count.
select relname as name, n_live_tup as rows
from pg_stat_user_tables
where schemaname = 'public'

-- name: handled
-- The latest message that was handled, and where its record is.
select topic, partition, "offset", handled_at
from tracking
where subscriber = %(subscriber)s and handled_at > now() - interval '1 minute'
order by handled_at desc
limit 1

-- name: audited
-- How long the latest answer of the audit receiver took, from the transaction to its mark.
select audited_at, extract(epoch from audited_at - handled_at)::float as seconds
from tracking
where subscriber = %(subscriber)s
    and handled_at > now() - interval '1 minute'
    and audited_at is not null
order by audited_at desc
limit 1

-- name: unaudited
-- How many messages wait for the audit receiver, and for how long; how many it has refused for good.
with waiting as (
    select message_id, failing_since as since
    from audit_failure
    where subscriber = %(subscriber)s and retry_at is not null
    union
    select message_id, handled_at
    from tracking
    where subscriber = %(subscriber)s
        and handled_at > now() - interval '1 minute'
        and audited_at is null
        and audit_error is null
)
select
    count(distinct message_id) as waiting,
    coalesce(extract(epoch from now() - min(since)), 0)::float as seconds,
    (
        select count(*)
        from audit_failure
        where subscriber = %(subscriber)s and retry_at is null
    ) as refused
from waiting
