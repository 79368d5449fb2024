"""One way to delete tracking rows, with a note of each: purger may not delete them otherwise."""

from alembic import op

revision = "0015"
down_revision = "0014"

# A record below its log start cannot be read again.
FUNCTION = """
    -- `judged` is what a reconciliation has found: up to which transaction all is well, and where
    -- the log of each topic/partition starts. Without it, only the age counts. Each call goes on
    -- behind the last row of the one before, and leaves rows that somebody holds for the next time.
    create function forget_tracking(
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
            returning *
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
                select from public.forgotten
                where subscriber = deleted.subscriber
                    and topic = deleted.topic
                    and partition = deleted.partition
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
            insert into public.forgotten (subscriber, topic, partition, offsets, messages, digest)
            select
                subscriber,
                topic,
                partition,
                range_agg(int8range("offset", "offset", '[]')),
                count(*),
                sum(('x' || left(encode(hash, 'hex'), 15))::bit(60)::bigint)
            from hashed
            group by subscriber, topic, partition
            on conflict (subscriber, topic, partition) do update
            set offsets = forgotten.offsets + excluded.offsets,
                messages = forgotten.messages + excluded.messages,
                digest = forgotten.digest + excluded.digest,
                forgotten_at = now()
        )
        select place from chosen
    $$;
"""
RIGHTS = """
    revoke execute on function forget_tracking from public;
    grant execute on function forget_tracking to purger;
    revoke delete on tracking from purger;
    revoke update (handled_at) on tracking from purger;
    revoke insert, update on forgotten from purger;
"""
DOWN = """
    grant delete, update (handled_at) on tracking to purger;
    grant insert, update on forgotten to purger;
    drop function forget_tracking;
"""


def upgrade() -> None:
    """Let `purger` delete what is old, and nothing without a note."""
    op.execute(FUNCTION + RIGHTS)


def downgrade() -> None:
    """Let it delete as before."""
    op.execute(DOWN)
