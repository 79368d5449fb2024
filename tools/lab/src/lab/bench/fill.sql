-- What the service and the audit receiver have written after many orders, in PostgreSQL. Of 200
-- orders four have a second message that was rejected, four records came twice, and one is none.
-- {names} in braces are numbers and ids that Python passes: {first} and {last} are of orders, and
-- {seq} is the last event of the outbox before them.

-- name: record_table
create table if not exists bench_record (
    n              bigint,
    kind           text,
    partition      integer,
    "offset"       bigint,
    order_id       text,
    message_id     text,
    fulfillment_id uuid,
    value          text
);
create index if not exists bench_record_n on bench_record (n);
grant select on bench_record to reconciler;

-- name: records
with record (n, kind) as (
    select n, kind
    from generate_series({first}, {last}) as n
    cross join lateral (
        values
            ('order', true),
            ('second', n % 50 = 0),
            ('again', n > 50 and n % 50 = 1),
            ('poison', n % 200 = 0)
    ) as of_n (kind, is_sent)
    where is_sent
),
already as (
    select partition, max("offset") + 1 as records
    from bench_record
    group by partition
),
placed as (
    select
        n,
        kind,
        record.n % 3 as partition,
        coalesce(records, 0)
            + row_number() over (partition by n % 3 order by n, kind) - 1 as "offset",
        case kind when 'second' then 's-' else 'm-' end || n as message_id
    from record
    left join already on already.partition = record.n % 3
)
insert into bench_record
select
    n,
    kind,
    partition,
    "offset",
    'o-' || n as order_id,
    case when kind <> 'poison' then message_id end as message_id,
    gen_random_uuid() as fulfillment_id,
    case kind
        when 'poison' then '{'
        else format(
            '{"order_id": "o-%s", "customer_id": "c-%s", "placed_at": "2026-11-21T10:00:00Z", "lines": '
            '[{"sku": "tea-0", "quantity": 2, "unit_price": "12.10"},'
            ' {"sku": "tea-1", "quantity": 2, "unit_price": "12.10"}]}',
            n,
            n % 5000
        )
    end as value
from placed
order by partition, "offset";

-- name: tracking
insert into tracking (
    subscriber, message_id, value_sha256, topic, partition, "offset", audited_at
)
select
    '{subscriber}', message_id, sha256(convert_to(value, 'UTF8')), '{input_topic}', partition,
    "offset", now()
from bench_record
where kind in ('order', 'second') and n between {first} and {last};

-- name: fulfillment
insert into fulfillment (
    order_id, fulfillment_id, subscriber, message_id, value_sha256, customer_id, placed_at, lines,
    total
)
select
    order_id, fulfillment_id, '{subscriber}', message_id, sha256(convert_to(value, 'UTF8')),
    value::json->>'customer_id', '2026-11-21T10:00:00Z', value::json->'lines', 48.40
from bench_record
where kind = 'order' and n between {first} and {last};

-- name: rejection
insert into rejection (subscriber, message_id, value_sha256, order_id, reason, fulfilled_by)
select
    '{subscriber}', message_id, sha256(convert_to(value, 'UTF8')), order_id, 'already_fulfilled',
    'm-' || n
from bench_record
where kind = 'second' and n between {first} and {last};

-- name: dead_letter
insert into dead_letter (subscriber, topic, partition, "offset", kind, reason)
select '{subscriber}', '{input_topic}', partition, "offset", 'invalid', 'it is no JSON'
from bench_record
where kind = 'poison' and n between {first} and {last};

-- name: outbox
insert into outbox (
    event_id, aggregate_type, aggregate_id, event_type, payload, traceparent
)
select
    gen_random_uuid(),
    case kind
        when 'order' then 'fulfillment'
        when 'second' then 'rejection'
        else 'dead-letter'
    end,
    case kind
        when 'poison' then concat_ws('/', '{input_topic}', partition, "offset")
        else order_id
    end,
    case kind
        when 'order' then 'order-fulfilled'
        when 'second' then 'order-rejected'
        else 'record-dead-lettered'
    end,
    case kind
        when 'order' then json_build_object(
            'message_id', message_id,
            'order_id', order_id,
            'fulfillment_id', fulfillment_id,
            'customer_id', value::json->>'customer_id',
            'placed_at', '2026-11-21T10:00:00Z',
            'lines', value::json->'lines',
            'total', '48.40'
        )
        when 'second' then json_build_object(
            'message_id', message_id,
            'order_id', order_id,
            'reason', 'already_fulfilled',
            'fulfilled_by', 'm-' || n
        )
        else json_build_object(
            'topic', '{input_topic}',
            'partition', partition,
            'offset', "offset",
            'kind', 'invalid',
            'value_sha256', encode(sha256(convert_to(value, 'UTF8')), 'hex')
        )
    end,
    '00-22d265fb57045b82bc2398831b95d3b4-22d265fb57045b82-00'
from bench_record
where kind <> 'again' and n between {first} and {last}
order by partition, "offset";

-- name: audited
-- What the service sends; the audit receiver's database is another one.
select
    kind || '-' || n as idempotency_key,
    gen_random_uuid()::text as audit_entry_id,
    message_id,
    order_id,
    case kind when 'order' then 'fulfilled' else 'rejected' end as outcome,
    case kind when 'order' then fulfillment_id::text end as fulfillment_id,
    case kind when 'order' then '48.40' end as total,
    encode(sha256(convert_to(value, 'UTF8')), 'hex') as body_sha256
from bench_record
where kind in ('order', 'second') and n between {first} and {last}

-- name: audited_table
create table if not exists audited (
    idempotency_key text,
    audit_entry_id  text,
    message_id      text,
    order_id        text,
    outcome         text,
    fulfillment_id  text,
    total           text,
    body_sha256     text
);
truncate audited;

-- name: audit_entry
insert into audit_entry (
    idempotency_key, audit_entry_id, message_id, order_id, outcome, fulfillment_id, total,
    body_sha256, answer
)
select
    idempotency_key, audit_entry_id::uuid, message_id, order_id, outcome, fulfillment_id::uuid,
    total::numeric, decode(body_sha256, 'hex'), '{"stored": true}'
from audited;

-- name: audit_outbox
insert into outbox (
    event_id, aggregate_type, aggregate_id, event_type, payload, traceparent
)
select
    gen_random_uuid(),
    'audit',
    order_id,
    'audit-entry-stored',
    json_build_object(
        'audit_entry_id', audit_entry_id,
        'idempotency_key', idempotency_key,
        'message_id', message_id,
        'order_id', order_id,
        'outcome', outcome,
        'body_sha256', body_sha256
    ),
    '00-22d265fb57045b82bc2398831b95d3b4-22d265fb57045b82-00'
from audited;

-- name: landed_records
-- What Spark appends to the input topic's table.
select
    '{input_topic}' as topic,
    partition,
    "offset",
    '2026-11-21 10:00:00+00'::timestamptz as timestamp,
    convert_to(order_id, 'UTF8') as key,
    convert_to(value, 'UTF8') as value,
    case when message_id is not null then 'message_id' end as header,
    message_id as header_value
from bench_record
where n between {first} and {last}

-- name: landed_events
-- The same for what Connect has published.
with published as (
    select
        *,
        aggregate_type || '.events' as topic,
        (abs(hashtext(aggregate_id)) % 3)::int as partition,
        row_number() over (
            partition by aggregate_type, abs(hashtext(aggregate_id)) % 3
            order by seq
        ) - 1 as "offset"
    from outbox
)
select
    topic,
    partition,
    "offset",
    '2026-11-21 10:00:00+00'::timestamptz as timestamp,
    convert_to(aggregate_id, 'UTF8') as key,
    convert_to(payload::text, 'UTF8') as value,
    'id' as header,
    event_id::text as header_value
from published
where seq > {seq}
