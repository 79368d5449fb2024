"""The outbox of a database, its heartbeat and its publication: the same in both."""


def create_outbox(aggregate_types: str, writer: str) -> str:
    """SQL for an outbox of these aggregate types, into which this role may insert and no more."""
    return f"""
        -- The only way out: Debezium reads these rows from the write-ahead log, in the sequence of commits.
        -- Every column that becomes a header is NOT NULL: a null header breaks CloudEvents readers.
        create table outbox (
            seq            bigint generated always as identity,
            event_id       uuid primary key,      -- derived, so that the same event cannot be written twice
            aggregate_type text not null check (aggregate_type in ({aggregate_types})), -- names the topic
            aggregate_id   text not null check (octet_length(aggregate_id) <= 512),     -- the record's key
            event_type     text not null,
            payload        json not null          -- json, not jsonb: the bytes arrive as they were inserted
                           check (octet_length(payload::text) <= 262144),  -- well below the producer's limit
            traceparent    text not null,
            specversion    text not null default '1.0',
            occurred_at    timestamptz not null default now());

        -- One row that the connector updates, so that its slot moves while the outbox is quiet.
        create table heartbeat (
            only_row boolean primary key default true check (only_row), at timestamptz not null default now());
        insert into heartbeat default values;

        -- With 'update', for the heartbeat; nobody may update the outbox.
        create publication outbox for table outbox, heartbeat with (publish = 'insert, update');

        grant select, insert on outbox to {writer};
        grant select on outbox to reconciler;
        grant select, update on heartbeat to cdc;"""


DROP_OUTBOX = "drop publication outbox; drop table heartbeat, outbox"


# A header that few events need; for the others it is empty, because it may not be null either. Its
# writers know its bound: a CHECK would read the whole table while nobody can write.
ADD_TRACESTATE = "alter table outbox add column tracestate text not null default '';"
DROP_TRACESTATE = "alter table outbox drop column tracestate;"


# A delete is not published, an insert is: a row that leaves and comes back in one transaction goes
# out once more, with the same id and the same bytes. Whoever may do that may not delete a row.
CREATE_RESEND = """
    create function resend(events uuid[]) returns bigint
    language sql security definer set search_path = '' as $$
        with taken as (
            delete from public.outbox
            where event_id = any(events)
            returning *
        ),
        put_back as (
            insert into public.outbox overriding system value
            select * from taken
            order by seq
            returning 1
        )
        select count(*) from put_back
    $$;

    revoke execute on function resend from public;
    grant execute on function resend to resender;
    grant select (event_id, seq, aggregate_type, occurred_at) on outbox to resender;
"""
DROP_RESEND = """
    revoke select (event_id, seq, aggregate_type, occurred_at) on outbox from resender;
    drop function resend;
"""
