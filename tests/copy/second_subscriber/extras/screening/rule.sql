-- Each payment is screened once, and its event says what was found.

accepted as (
    insert into screening (message_id, payment_id, is_suspicious)
    select message_id, payment_id, is_suspicious
    from item
    join fresh using (message_id)
    order by message_id
    on conflict do nothing
    returning message_id
),

decision as (
    select
        message_id,
        n,
        'payment-screened' as event_type,
        payment_id as aggregate_id,
        (
            select row_to_json(body)
            from (select message_id, payment_id, is_suspicious) as body
        ) as payload
    from item
    join fresh using (message_id)
)
