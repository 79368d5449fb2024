-- The outbox rows that the service has written, in batches, and how pgbench writes them again.
-- {warm_up} and {batch} are numbers of rows: those of batch 0, and those of each batch after it.

-- name: keep
drop table if exists bare_event;
create table bare_event as
select
    case
        when place > {warm_up} then 1 + (place - {warm_up} - 1) / {batch}
        else 0
    end as batch,
    place,
    event_id,
    aggregate_type,
    aggregate_id,
    event_type,
    traceparent,
    tracestate,
    payload
from (select *, row_number() over (order by seq) as place from outbox) as placed;
create index on bare_event (batch);
grant select on bare_event to app;
analyze bare_event;

-- name: write
insert into outbox (
    event_id, aggregate_type, aggregate_id, event_type, traceparent, tracestate, payload
)
select event_id, aggregate_type, aggregate_id, event_type, traceparent, tracestate, payload
from bare_event
where batch = :n
order by place;
