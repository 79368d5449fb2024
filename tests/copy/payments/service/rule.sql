-- The business rule: a payment in a currency that we book is booked once, and has a receipt. A
-- second message for it is rejected, and so is a payment in another currency.
--
-- These are common table expressions of the statement in write.sql. They find
--   item    each message of the batch, with the columns that service/rule.py adds to it
--   fresh   the message_id of each message that has not been handled before
-- write the rows that the business keeps for ever, each with the message and the hash of its value
-- (known.sql finds them when the message comes again), and end in
--   decision (message_id, n, event_type, aggregate_id, payload)

accepted as (
    insert into booking (
        payment_id, booking_id, subscriber, message_id, value_sha256, customer_id, placed_at,
        total, currency
    )
    select
        payment_id, booking_id, :subscriber, message_id, value_sha256, customer_id,
        placed_at::timestamptz, total::numeric, currency
    from item
    join fresh using (message_id)
    where is_bookable
    order by payment_id, n
    on conflict do nothing
    returning message_id
),

-- The message that has won its payment, if the currency leaves one to be found: this one, another
-- of this batch, or one of another worker, which a function sees although it was just committed.
judged as materialized (
    select
        item.*,
        case
            when is_bookable then coalesce(accepted.message_id, booked_by(payment_id))
        end as booked_by
    from item
    join fresh using (message_id)
    left join accepted using (message_id)
),

rejected as materialized (
    select
        *,
        case when is_bookable then 'already_booked' else 'currency_not_booked' end as reason
    from judged
    where booked_by is distinct from message_id
),

noted as (
    insert into rejection (subscriber, message_id, value_sha256, payment_id, reason, booked_by)
    select :subscriber, message_id, value_sha256, payment_id, reason, booked_by
    from rejected
    order by message_id
    on conflict do nothing
),

decision as (
    select
        message_id,
        n,
        'payment-booked' as event_type,
        payment_id as aggregate_id,
        (
            select row_to_json(body)
            from (
                select
                    message_id, payment_id, booking_id, customer_id, placed_at, total, currency
            ) as body
        ) as payload
    from judged
    where booked_by = message_id

    union all

    select
        message_id,
        n,
        'receipt-issued',
        payment_id,
        (
            select row_to_json(body)
            from (select message_id, payment_id, booking_id, total, currency) as body
        )
    from judged
    where booked_by = message_id

    union all

    select
        message_id,
        n,
        'payment-rejected',
        payment_id,
        (
            select row_to_json(body)
            from (select message_id, payment_id, reason, booked_by) as body
        )
    from rejected
)
