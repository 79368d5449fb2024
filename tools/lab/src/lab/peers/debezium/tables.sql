-- The tables of the example: the order, and the outbox as its Quarkus extension makes it.

create schema inventory;

create table inventory.purchaseorder (
    id         varchar(255) primary key,
    customerid varchar(255) not null,
    orderdate  timestamp not null,
    lineitems  jsonb not null
);

create table inventory.outboxevent (
    id            uuid primary key,
    aggregatetype varchar(255) not null,
    aggregateid   varchar(255) not null,
    type          varchar(255) not null,
    timestamp     timestamp not null,
    payload       varchar(8000)
);
