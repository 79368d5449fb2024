-- The tables of a tutorial: the order, and an outbox with a column that says what was published.

create table purchase_order (
    order_id    text primary key,
    customer_id text not null,
    lines       jsonb not null
);

create table outbox (
    id           bigserial primary key,
    aggregate_id text not null,
    type         text not null,
    payload      jsonb not null,
    created_at   timestamptz not null default now(),
    published_at timestamptz
);

create index outbox_unpublished on outbox (id) where published_at is null;
