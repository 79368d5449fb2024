-- Reconciliation as a textbook has it: a full outer join for each hop. DuckDB and Spark run it as it
-- is, over the tables as they were read and over the landed records.

-- name: topics → landed
select
    sum(case when landed.position is null then 1 else 0 end) as missing,
    sum(case when expected.position is null then 1 else 0 end) as extra,
    sum(case when landed.copies > 1 then 1 else 0 end) as different
from expected
full outer join (select position, count(*) as copies from landed group by position) as landed
    on landed.position = expected.position

-- name: order.events → tracking or dead letter
select
    sum(case when handled.position is null and first.message_id is null then 1 else 0 end)
        as missing,
    sum(case when record.position is null then 1 else 0 end) as extra,
    sum(case when handled.sha256 <> record.sha256 then 1 else 0 end) as different
from (select * from landed where topic = 'order.events') as record
full outer join (
    select position, sha256 from tracking
    union all
    select position, value_sha256 from dead_letter
    left join outbox on outbox.key = dead_letter.position
) as handled
    on handled.position = record.position
left join tracking as first
    on first.message_id = record.message_id and first.sha256 = record.sha256

-- name: tracking → fulfillment or rejection
select
    sum(case when decision.message_id is null then 1 else 0 end) as missing,
    sum(case when tracking.message_id is null then 1 else 0 end) as extra,
    sum(case when decision.compared <> event.compared or decision.copies > 1 then 1 else 0 end)
        as different
from tracking
full outer join (
    select message_id, max(compared) as compared, count(*) as copies
    from (
        select message_id, compared from fulfillment
        union all
        select message_id, null from outbox where outcome = 'rejected'
    ) as row
    group by message_id
) as decision
    on decision.message_id = tracking.message_id
left join (select message_id, compared from outbox where outcome = 'fulfilled') as event
    on event.message_id = tracking.message_id

-- name: tracking → outbox
select
    sum(case when event.message_id is null then 1 else 0 end) as missing,
    sum(case when tracking.message_id is null then 1 else 0 end) as extra,
    sum(case when event.copies > 1 then 1 else 0 end) as different
from tracking
full outer join (
    select message_id, count(*) as copies from outbox where outcome is not null group by message_id
) as event
    on event.message_id = tracking.message_id

-- name: dead letter → outbox
select
    sum(case when event.letter is null then 1 else 0 end) as missing,
    sum(case when dead_letter.letter is null then 1 else 0 end) as extra,
    sum(case when event.copies > 1 then 1 else 0 end) as different
from dead_letter
full outer join (
    select letter, count(*) as copies
    from outbox
    where topic = 'dead-letter.events'
    group by letter
) as event
    on event.letter = dead_letter.letter

-- name: tracking → audit entry
select
    sum(case when entry.message_id is null then 1 else 0 end) as missing,
    sum(case when tracking.message_id is null then 1 else 0 end) as extra,
    sum(case when entry.audited <> event.audited or entry.copies > 1 then 1 else 0 end)
        as different
from tracking
full outer join (
    select message_id, max(audited) as audited, count(*) as copies
    from audit_entry
    group by message_id
) as entry
    on entry.message_id = tracking.message_id
left join (select message_id, audited from outbox where outcome is not null) as event
    on event.message_id = tracking.message_id

-- name: audit entry → outbox
select
    sum(case when event.audit_entry_id is null then 1 else 0 end) as missing,
    sum(case when entry.audit_entry_id is null then 1 else 0 end) as extra,
    sum(case when event.compared <> entry.compared or event.copies > 1 then 1 else 0 end)
        as different
from audit_entry as entry
full outer join (
    select audit_entry_id, max(compared) as compared, count(*) as copies
    from outbox
    where topic = 'audit.events'
    group by audit_entry_id
) as event
    on event.audit_entry_id = entry.audit_entry_id

-- name: outbox → topics
select
    sum(case when event.event_id is null then 1 else 0 end) as missing,
    sum(case when outbox.event_id is null then 1 else 0 end) as extra,
    sum(
        case
            when event.sha256 <> outbox.sha256 or event.key <> outbox.key or event.others <> event.sha256
                then 1
            else 0
        end
    ) as different
from outbox
full outer join (
    select event_id, max(key) as key, min(sha256) as sha256, max(sha256) as others
    from landed
    where topic <> 'order.events'
    group by event_id
) as event
    on event.event_id = outbox.event_id
