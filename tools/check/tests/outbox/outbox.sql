-- An outbox, its heartbeat and its publication that every rule agrees with.
create table outbox (
    seq            bigint generated always as identity,
    event_id       uuid primary key,
    aggregate_type text not null check (aggregate_type in ('order')),
    aggregate_id   text not null check (octet_length(aggregate_id) <= 512),
    event_type     text not null,
    payload        json not null
                   check (octet_length(payload::text) <= 262144),
    traceparent    text not null,
    specversion    text not null default '1.0',
    occurred_at    timestamptz not null default now());

create table heartbeat (
    only_row boolean primary key default true check (only_row),
    at       timestamptz not null default now());
insert into heartbeat default values;

-- With 'update', for the heartbeat; nobody may update the outbox.
create publication outbox for table outbox, heartbeat with (publish = 'insert, update');

grant select, insert on outbox to app;
grant select on outbox to reconciler;
grant select, update on heartbeat to cdc;
