"""The offsets of forgotten messages in short stretches, and a way to drop those that are old."""

from importlib import import_module

from alembic import op

revision = "0022"
down_revision = "0021"

FORMER = import_module("migrations.fulfillment.0015_forget_tracking")

TABLE = """
    -- From what landed at these offsets, tracking rows are made again. What came again or was
    -- invalid leaves a gap: in one row for each partition, every batch would write all of them.
    create table forgotten_offsets (
        subscriber text not null,
        topic      text not null,
        partition  integer not null,
        stretch    bigint not null, -- of a hundred thousand offsets
        offsets    int8multirange not null,
        primary key (subscriber, topic, partition, stretch)
    );

    insert into forgotten_offsets
    select subscriber, topic, partition, stretch, range_agg(range * bounds)
    from forgotten
    cross join unnest(offsets) as range
    cross join generate_series(lower(range) / 100000, (upper(range) - 1) / 100000) as stretch
    cross join int8range(stretch * 100000, (stretch + 1) * 100000) as bounds
    group by subscriber, topic, partition, stretch;

    alter table forgotten drop column offsets;
"""

# A record below its log start cannot be read again.
FORGET = """
    -- `judged` is what a reconciliation has found: up to which transaction all is well, and where
    -- the log of each topic/partition starts. Without it, only the age counts. Each call goes on
    -- behind the last row of the one before, and leaves rows that somebody holds for the next time.
    create or replace function forget_tracking(
        of_subscriber text,
        handled_before timestamptz,
        judged jsonb,
        most integer,
        behind tid
    )
    returns setof tid
    language sql security definer set search_path = '' as $$
        with chosen as materialized (
            select ctid as place
            from public.tracking
            where ctid > behind
                and subscriber = of_subscriber
                and handled_at < handled_before
                and audit_error is null
                and not exists (
                    select from public.audit_failure as failure
                    where failure.subscriber = tracking.subscriber
                        and failure.message_id = tracking.message_id
                )
                and (
                    judged is null
                    or audited_at is not null
                    and coalesce(written_by, 0) < least(
                        (judged->>'written_before')::bigint,
                        pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                    )
                    and "offset" < coalesce(
                        (judged->'log_starts'->>concat_ws('/', topic, partition))::bigint,
                        0
                    )
                )
            limit most
            for update skip locked
        ),
        deleted as (
            delete from public.tracking
            where ctid = any(array(select place from chosen))
            returning *, "offset" / 100000 as stretch
        ),
        hashed as (
            select
                *,
                sha256(convert_to(
                    concat_ws(' ', "offset", message_id, encode(value_sha256, 'hex')),
                    'UTF8'
                )) as hash
            from deleted
            where not exists ( -- forgotten, handled again, forgotten again: the first time counts
                select from public.forgotten_offsets
                where subscriber = deleted.subscriber
                    and topic = deleted.topic
                    and partition = deleted.partition
                    and stretch = deleted.stretch
                    and offsets @> deleted."offset"
            )
            and not exists ( -- it came again after it was forgotten: its row did not say so first
                select from public.fulfillment
                where subscriber = deleted.subscriber
                    and message_id = deleted.message_id
                    and coalesce(written_by, 0) < coalesce(deleted.written_by, 0)
                union all
                select from public.rejection
                where subscriber = deleted.subscriber
                    and message_id = deleted.message_id
                    and coalesce(written_by, 0) < coalesce(deleted.written_by, 0)
            )
        ),
        noted as (
            insert into public.forgotten (subscriber, topic, partition, messages, digest)
            select
                subscriber,
                topic,
                partition,
                count(*),
                sum(('x' || left(encode(hash, 'hex'), 15))::bit(60)::bigint)
            from hashed
            group by subscriber, topic, partition
            on conflict (subscriber, topic, partition) do update
            set messages = forgotten.messages + excluded.messages,
                digest = forgotten.digest + excluded.digest,
                forgotten_at = now()
        ),
        placed as (
            insert into public.forgotten_offsets
            select
                subscriber,
                topic,
                partition,
                stretch,
                range_agg(int8range("offset", "offset", '[]'))
            from hashed
            group by subscriber, topic, partition, stretch
            on conflict (subscriber, topic, partition, stretch) do update
            set offsets = forgotten_offsets.offsets + excluded.offsets
        )
        select place from chosen
    $$;
"""

DROP = """
    -- `stops` says up to which offset of each topic/partition retention has deleted what landed.
    -- Nobody makes a row of that any more; how many there were stays in `forgotten`.
    create function drop_forgotten_offsets(of_subscriber text, stops jsonb) returns void
    language sql security definer set search_path = '' as $$
        delete from public.forgotten_offsets
        where subscriber = of_subscriber
            and (stretch + 1) * 100000 <= (stops->>concat_ws('/', topic, partition))::bigint
    $$;
"""
RIGHTS = """
    grant select on forgotten_offsets to purger, reconciler;
    revoke execute on function drop_forgotten_offsets from public;
    grant execute on function drop_forgotten_offsets to purger;
"""
DOWN = """
    alter table forgotten add column offsets int8multirange not null default '{}';
    alter table forgotten alter column offsets drop default;
    update forgotten
    set offsets = (
        select coalesce(range_agg(range), '{}')
        from forgotten_offsets as former
        cross join unnest(former.offsets) as range
        where former.subscriber = forgotten.subscriber
            and former.topic = forgotten.topic
            and former.partition = forgotten.partition
    );

    drop function drop_forgotten_offsets;
    drop function forget_tracking;
    drop table forgotten_offsets;
"""


def upgrade() -> None:
    """Divide the offsets; neighbours in two stretches are two ranges from now on."""
    op.execute(TABLE + FORGET + DROP + RIGHTS)


def downgrade() -> None:
    """Put them into one row for each partition again; those that were dropped do not come back."""
    op.execute(DOWN + FORMER.FUNCTION + FORMER.RIGHTS)
