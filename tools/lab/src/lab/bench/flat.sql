-- What brings filled tables back to where they were before a round, whose orders have the numbers
-- from {first} to {last}.

-- name: fulfillment
delete from fulfillment
where order_id in (select 'o-' || n from generate_series({first}, {last}) as n);

-- name: outbox
delete from outbox
where aggregate_id in (select 'o-' || n from generate_series({first}, {last}) as n);

-- name: tracking
delete from tracking
where message_id in (select 'm-' || n from generate_series({first}, {last}) as n);

-- name: vacuum
vacuum analyze;

-- name: checkpoint
-- Full-page images then hit every round alike.
checkpoint;
