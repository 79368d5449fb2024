"""Retention of an outbox: a way to delete old events, for the role that may do nothing else."""

TABLE = """
    -- What retention has deleted from the outbox, so that it does not seem to be lost. `digest` is
    -- the sum of a hash over id, key and payload of each event.
    create table retired (
        aggregate_type text primary key,
        written_before bigint not null, -- what transactions before this one wrote was deleted
        events         bigint not null,
        digest         numeric not null,
        retired_at     timestamptz not null default now() -- the last of them
    );
"""
# The digest is the one of spark/rows/retired.sql. Rows that name no transaction are the oldest.
FUNCTION = """
    -- Deletes are not published. What a transaction that still runs has written stays. Each call
    -- goes on behind the last row of the one before, and does not pass what is deleted already.
    create or replace function retire(
        types text[],
        before bigint,
        most integer,
        behind tid,
        out events bigint,
        out last tid
    )
    language sql security definer set search_path = '' as $$
        with chosen as materialized (
            select ctid
            from public.outbox
            where ctid > behind
                and coalesce(written_by, 0) < least(
                    before,
                    pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                )
                and event_type = any(types)
                and not ({stays})
            limit most
        ),
        deleted as (
            delete from public.outbox
            where ctid = any(array(select ctid from chosen))
            returning event_id, aggregate_type, aggregate_id, payload
        ),
        hashed as (
            select
                aggregate_type,
                sha256(convert_to(
                    concat_ws(
                        ' ',
                        event_id,
                        aggregate_id,
                        encode(sha256(convert_to(payload::text, 'UTF8')), 'hex')
                    ),
                    'UTF8'
                )) as hash
            from deleted
        ),
        noted as (
            insert into public.retired (aggregate_type, written_before, events, digest)
            select
                aggregate_type,
                before,
                count(*),
                sum(('x' || left(encode(hash, 'hex'), 15))::bit(60)::bigint)
            from hashed
            group by aggregate_type
            on conflict (aggregate_type) do update
            set written_before = greatest(retired.written_before, excluded.written_before),
                events = retired.events + excluded.events,
                digest = retired.digest + excluded.digest,
                retired_at = now()
        )
        select
            (select count(*) from deleted),
            (select max(ctid) from chosen)
    $$;
"""
RIGHTS = """
    revoke execute on function retire from public;
    grant execute on function retire to purger;
    grant select (event_id, event_type, occurred_at, written_by) on outbox to purger;
    grant select on retired to reconciler;
"""
DROP_RETIRED = """
    revoke select (event_id, event_type, occurred_at, written_by) on outbox from purger;
    drop function retire;
    drop table retired;
"""


def make_retire(stays: str = "false") -> str:
    """SQL for the function that deletes old events, but those of which this condition holds."""
    return FUNCTION.format(stays=stays)


CREATE_RETIRED = TABLE + make_retire() + RIGHTS
