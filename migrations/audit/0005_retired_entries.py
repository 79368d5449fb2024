"""A way to delete old audit entries whose events have landed, and a note of what was deleted."""

from alembic import op

revision = "0005"
down_revision = "0004"

# The digest is the one of spark/rows/retired.sql.
UP = """
    -- What retention has deleted of the entries: by the positions of their events, from which they
    -- are made again. `digest` is the sum of a hash over offset, key, id and body of each entry.
    create table retired_entry (
        topic      text not null,
        partition  integer not null,
        offsets    int8multirange not null,
        entries    bigint not null,
        digest     numeric not null,
        retired_at timestamptz not null default now(), -- the last of them
        primary key (topic, partition)
    );

    -- `landed` are events as they landed: an entry that is not the same as its event stays, and so
    -- does one that a transaction wrote which still runs or is not judged.
    create function retire_entries(landed json, written_before bigint) returns bigint
    language sql security definer set search_path = '' as $$
        with event as materialized (
            select distinct on (idempotency_key) *
            from json_to_recordset(landed) as event (
                topic text,
                partition integer,
                "offset" bigint,
                idempotency_key text,
                audit_entry_id uuid,
                body_sha256 text
            )
            order by idempotency_key, topic, partition, "offset"
        ),
        deleted as (
            delete from public.audit_entry as entry
            using event
            where entry.idempotency_key = event.idempotency_key
                and entry.audit_entry_id = event.audit_entry_id
                and encode(entry.body_sha256, 'hex') = event.body_sha256
                and coalesce(entry.written_by, 0) < least(
                    written_before,
                    pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                )
            returning event.*
        ),
        hashed as (
            select
                *,
                sha256(convert_to(
                    concat_ws(' ', "offset", idempotency_key, audit_entry_id, body_sha256),
                    'UTF8'
                )) as hash
            from deleted
            where not exists ( -- retired, sent again, retired again: the first time counts
                select from public.retired_entry as retired
                where retired.topic = deleted.topic
                    and retired.partition = deleted.partition
                    and retired.offsets @> deleted."offset"
            )
        ),
        noted as (
            insert into public.retired_entry (topic, partition, offsets, entries, digest)
            select
                topic,
                partition,
                range_agg(int8range("offset", "offset", '[]')),
                count(*),
                sum(('x' || left(encode(hash, 'hex'), 15))::bit(60)::bigint)
            from hashed
            group by topic, partition
            on conflict (topic, partition) do update
            set offsets = retired_entry.offsets + excluded.offsets,
                entries = retired_entry.entries + excluded.entries,
                digest = retired_entry.digest + excluded.digest,
                retired_at = now()
        )
        select count(*) from deleted
    $$;

    revoke execute on function retire_entries from public;
    grant execute on function retire_entries to purger;
    grant select on retired_entry to purger, reconciler;
    grant select (idempotency_key, written_by) on audit_entry to purger;
"""
DOWN = """
    revoke select (idempotency_key, written_by) on audit_entry from purger;
    drop function retire_entries;
    drop table retired_entry;
"""


def upgrade() -> None:
    """Let `purger` delete old entries."""
    op.execute(UP)


def downgrade() -> None:
    """Take that away; what was deleted will seem to be missing."""
    op.execute(DOWN)
