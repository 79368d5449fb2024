-- What shares of the old add up to, in Spark SQL.

-- name: noted
-- The rows of each part: a table, or a topic of an outbox. What may change lawfully is left out: the
-- receiver's answer is noted in a tracking row. How many wait for one may only become less, so these
-- are a part of their own. Rows of earlier versions name no transaction.
select database, 'tracking' as part, coalesce(written_by, {never}) as writer,
    xxhash64(message_id, position, sha256) as content
from {tracking}
union all
select database, {waiting}, coalesce(written_by, {never}), bigint(0)
from {tracking}
where not marked or audit_error is not null
union all
select database, 'fulfillment', coalesce(written_by, {never}),
    xxhash64(message_id, order_id, sha256, compared)
from {fulfillment}
union all
select database, 'rejection', coalesce(written_by, {never}),
    xxhash64(message_id, order_id, reason, fulfilled_by, sha256)
from {rejection}
union all
select database, 'dead letter', coalesce(written_by, {never}), xxhash64(subscriber, letter)
from {dead_letter}
union all
select database, 'audit entry', coalesce(written_by, {never}),
    xxhash64(audit_entry_id, idempotency_key, message_id, audited, compared)
from {audit_entry}
union all
select database, concat({outbox_of}, topic), coalesce(written_by, {never}),
    xxhash64(event_id, event_type, key, sha256)
from {outbox}

-- name: sums
-- Sums as in digest.sql, and with as many bits: two of forty, whose seeds differ.
select
    noted.database,
    ranges.first,
    noted.part,
    count(*) as rows,
    sum(shiftright(xxhash64(1, content), 24)) as first_sum,
    sum(shiftright(xxhash64(2, content), 24)) as second_sum
from {noted} as noted
join {ranges} as ranges
    on ranges.database = noted.database
    and noted.writer >= ranges.first
    and noted.writer < ranges.stop
group by noted.database, ranges.first, noted.part
