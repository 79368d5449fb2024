-- The business rule: an order is fulfilled once, and a second message for it is rejected.
--
-- These are common table expressions of the statement in write.sql. They find
--   item    each message of the batch, with the columns that service/rule.py adds to it
--   fresh   the message_id of each message that has not been handled before
-- write the rows that the business keeps for ever, each with the message and the hash of its value
-- (known.sql finds them when the message comes again), and end in
--   decision (message_id, n, event_type, aggregate_id, payload)
-- with exactly one deciding event of contract/events.py for each fresh message, and beside it
-- exactly one of each event that follows its outcome.

accepted as (
    insert into fulfillment (
        order_id, fulfillment_id, subscriber, message_id, value_sha256, customer_id, placed_at,
        lines, total
    )
    select
        order_id, fulfillment_id, :subscriber, message_id, value_sha256, customer_id,
        placed_at::timestamptz, lines, total::numeric
    from item
    join fresh using (message_id)
    order by order_id, n
    on conflict do nothing
    returning message_id
),

-- The message that has won its order: this one, another of this batch, or one of another worker.
-- The last is found by a function, because a function sees what was committed in the meantime.
judged as materialized (
    select item.*, coalesce(accepted.message_id, fulfilled_by(order_id)) as fulfilled_by
    from item
    join fresh using (message_id)
    left join accepted using (message_id)
),

rejected as materialized (
    select *, 'already_fulfilled' as reason
    from judged
    where fulfilled_by is distinct from message_id
),

noted as (
    insert into rejection (subscriber, message_id, value_sha256, order_id, reason, fulfilled_by)
    select :subscriber, message_id, value_sha256, order_id, reason, fulfilled_by
    from rejected
    order by message_id
    on conflict do nothing
),

decision as (
    select
        message_id,
        n,
        'order-fulfilled' as event_type,
        order_id as aggregate_id,
        (
            select row_to_json(body)
            from (
                select
                    message_id, order_id, fulfillment_id, customer_id, placed_at, lines, total
            ) as body
        ) as payload
    from judged
    where fulfilled_by = message_id

    union all

    select
        message_id,
        n,
        'order-rejected',
        order_id,
        (
            select row_to_json(body)
            from (select message_id, order_id, reason, fulfilled_by) as body
        )
    from rejected
)
