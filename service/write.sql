-- What a batch writes, in one statement and one transaction: tracking, the rule's rows, dead
-- letters and the outbox. What comes back is what was not both fresh and accepted: of most
-- batches, nothing.
--
-- service/write.py puts in
--   columns          the rule's own columns of item
--   known            known.sql: what the business's own rows know
--   fresh            the dedup store's expressions; they end in fresh (message_id)
--   rule             rule.sql; it ends in decision
--   events           the contract's events
--   accepted         the event type of an accepted message
--
-- Each insert sorts by its own unique key, so that two workers with the same messages wait for
-- each other instead of deadlocking.

with delivered as materialized (
    select *
    from json_to_recordset(cast(:items as json)) as record (
        n int,
        -- A column of its own, because the planner expects half of the rows to be true. For
        -- `dead_letter is null` it would expect one row, and join 500 by 500 in nested loops.
        is_message bool,
        topic text,
        partition int,
        "offset" bigint,
        message_id text,
        value_sha256 bytea,
        sequence bigint,
        event_id uuid,
        further_ids json,
        traceparent text,
        tracestate text,
        dead_letter json,
        {columns}
    )
),

known as materialized (
    {known}
),

-- What the business knows is never fresh, whatever the dedup store has forgotten. That is seen
-- before the store is asked, and by the snapshot of this statement: whoever has written such a row
-- since then has also claimed the message, so that the store tells.
item as materialized (
    select delivered.*
    from delivered
    left join known using (message_id)
    where known.message_id is null
),

-- The same value again, for a store that keeps a row for each message.
repeated as (
    select delivered.*
    from delivered
    join known using (message_id)
    where coalesce(known.value_sha256 = delivered.value_sha256, true)
),

{fresh},

{rule},

known_event (event_type, aggregate_type, is_deciding) as (
    values {events}
),

decided as materialized (
    select decision.*, known_event.aggregate_type, known_event.is_deciding
    from decision
    left join known_event using (event_type)
),

-- The rule must decide on each fresh message exactly once. If it does not, or with an event that
-- the contract does not know, the outbox refuses a null, and nothing of the batch is written.
undecided as (
    select fresh.message_id
    from fresh
    left join decided on decided.message_id = fresh.message_id and decided.is_deciding
    group by fresh.message_id
    having count(decided.message_id) <> 1
),

buried as (
    insert into dead_letter (subscriber, topic, partition, "offset", kind, reason)
    select
        :subscriber, topic, partition, "offset", dead_letter->>'kind', dead_letter->>'reason'
    from item
    where not is_message
    order by topic, partition, "offset"
    on conflict do nothing
    returning topic, partition, "offset"
),

event (
    n,
    is_further,
    event_id,
    aggregate_type,
    aggregate_id,
    event_type,
    traceparent,
    tracestate,
    payload
) as (
    select
        item.n,
        not decided.is_deciding,
        case
            when decided.is_deciding then item.event_id
            else (item.further_ids->>decided.event_type)::uuid
        end,
        decided.aggregate_type,
        decided.aggregate_id,
        decided.event_type,
        item.traceparent,
        item.tracestate,
        decided.payload
    from decided
    join item using (message_id)

    union all

    select n, false, event_id, null, null, null, traceparent, tracestate, null
    from undecided
    join item using (message_id)

    union all

    select
        n,
        false,
        event_id,
        'dead-letter',
        concat_ws('/', topic, partition, "offset"),
        'record-dead-lettered',
        traceparent,
        tracestate,
        dead_letter
    from item
    join buried using (topic, partition, "offset")
),

published as (
    insert into outbox (
        event_id, aggregate_type, aggregate_id, event_type, traceparent, tracestate, payload
    )
    select
        event_id,
        aggregate_type,
        aggregate_id,
        event_type,
        traceparent,
        coalesce(tracestate, ''),
        payload
    from event
    order by n, is_further
    on conflict do nothing
)

select delivered.message_id, decided.event_type
from delivered
left join decided on decided.message_id = delivered.message_id and decided.is_deciding
where delivered.is_message and decided.event_type is distinct from {accepted}
