"""The offsets of retired entries in short stretches, and a way to drop those that are old."""

from importlib import import_module

from alembic import op

revision = "0008"
down_revision = "0007"

FORMER = import_module("migrations.audit.0005_retired_entries")

TABLE = """
    -- From what landed at these offsets, entries are made again: see revision 0022 of fulfillment.
    create table retired_offsets (
        topic     text not null,
        partition integer not null,
        stretch   bigint not null, -- of a hundred thousand offsets
        offsets   int8multirange not null,
        primary key (topic, partition, stretch)
    );

    insert into retired_offsets
    select topic, partition, stretch, range_agg(range * bounds)
    from retired_entry
    cross join unnest(offsets) as range
    cross join generate_series(lower(range) / 100000, (upper(range) - 1) / 100000) as stretch
    cross join int8range(stretch * 100000, (stretch + 1) * 100000) as bounds
    group by topic, partition, stretch;

    alter table retired_entry drop column offsets;
"""
RETIRE = """
    -- `landed` are events as they landed: an entry that is not the same as its event stays, and so
    -- does one that a transaction wrote which still runs or is not judged.
    create or replace function retire_entries(landed json, written_before bigint) returns bigint
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
            returning event.*, event."offset" / 100000 as stretch
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
                select from public.retired_offsets as retired
                where retired.topic = deleted.topic
                    and retired.partition = deleted.partition
                    and retired.stretch = deleted.stretch
                    and retired.offsets @> deleted."offset"
            )
        ),
        noted as (
            insert into public.retired_entry (topic, partition, entries, digest)
            select
                topic,
                partition,
                count(*),
                sum(('x' || left(encode(hash, 'hex'), 15))::bit(60)::bigint)
            from hashed
            group by topic, partition
            on conflict (topic, partition) do update
            set entries = retired_entry.entries + excluded.entries,
                digest = retired_entry.digest + excluded.digest,
                retired_at = now()
        ),
        placed as (
            insert into public.retired_offsets
            select
                topic,
                partition,
                stretch,
                range_agg(int8range("offset", "offset", '[]'))
            from hashed
            group by topic, partition, stretch
            on conflict (topic, partition, stretch) do update
            set offsets = retired_offsets.offsets + excluded.offsets
        )
        select count(*) from deleted
    $$;
"""
DROP = """
    -- `stops` says up to which offset of each topic/partition retention has deleted what landed.
    -- Nobody makes an entry of that any more; how many there were stays in `retired_entry`.
    create function drop_retired_offsets(stops jsonb) returns void
    language sql security definer set search_path = '' as $$
        delete from public.retired_offsets
        where (stretch + 1) * 100000 <= (stops->>concat_ws('/', topic, partition))::bigint
    $$;
"""
RIGHTS = """
    grant select on retired_offsets to purger, reconciler;
    revoke execute on function drop_retired_offsets from public;
    grant execute on function drop_retired_offsets to purger;
"""
ASIDE = """
    drop function drop_retired_offsets;
    drop function retire_entries;
    alter table retired_entry rename to divided;
    alter table divided rename constraint retired_entry_pkey to divided_pkey;
"""
TOGETHER = """
    insert into retired_entry
    select
        topic,
        partition,
        (
            select coalesce(range_agg(range), '{}')
            from retired_offsets
            cross join unnest(offsets) as range
            where retired_offsets.topic = divided.topic
                and retired_offsets.partition = divided.partition
        ),
        entries,
        digest,
        retired_at
    from divided;

    drop table divided, retired_offsets;
"""


def upgrade() -> None:
    """Divide the offsets; neighbours in two stretches are two ranges from now on."""
    op.execute(TABLE + RETIRE + DROP + RIGHTS)


def downgrade() -> None:
    """Put them into one row for each partition again; those that were dropped do not come back."""
    op.execute(ASIDE + FORMER.UP + TOGETHER)
