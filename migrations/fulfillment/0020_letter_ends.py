"""What became of each dead letter that was sent again, and how old ones go that are closed.

An open letter stays, and so does its event, which has its bytes: somebody may still send it again.
"""

from alembic import op

from migrations.retired import make_retire

revision = "0020"
down_revision = "0019"

# A letter is closed when it was skipped, or when it is known what became of it; until then its copy
# may be on its way. The acts about it are kept for ever.
ENDS = """
    alter table dead_letter_act
        add column message_id text, -- of the record that was sent, if it has one
        add column outcome text;    -- what became of it; null: it is not known yet
    create index dead_letter_act_not_over on dead_letter_act (subscriber)
        where sent_offset is not null and outcome is null;

    drop view dead_letter_acts;
    create view dead_letter_acts as
        select
            subscriber,
            topic,
            partition,
            "offset",
            bool_or(act = 'skip' or outcome is not null) as is_closed,
            bool_or(sent_offset is not null and outcome is null) as is_on_its_way,
            max(acted_at) as last_at,
            json_agg(
                json_build_object(
                    'act', act,
                    'why', why,
                    'by', acted_by,
                    'at', acted_at,
                    'sent', sent_partition || '/' || sent_offset,
                    'outcome', outcome
                )
                order by id
            ) as acts
        from dead_letter_act
        group by subscriber, topic, partition, "offset";

    -- Whether an event is that of a letter which is not closed.
    create function is_open_letter(event uuid) returns boolean
    language sql stable security definer set search_path = '' as $$
        select exists (
            select
            from public.outbox
            join public.dead_letter as letter
                on letter.topic = payload->>'topic'
                and letter.partition = (payload->>'partition')::integer
                and letter."offset" = (payload->>'offset')::bigint
                and letter.subscriber = coalesce(payload->>'subscriber', letter.subscriber)
            where event_id = event
                and not exists (
                    select
                    from public.dead_letter_act as act
                    where act.subscriber = letter.subscriber
                        and act.topic = letter.topic
                        and act.partition = letter.partition
                        and act."offset" = letter."offset"
                        and (act.act = 'skip' or act.outcome is not null)
                )
        )
    $$;
"""

# The digest is the one of spark/rows/retired.sql.
RETIRED_LETTERS = """
    -- What retention has deleted of the dead letters, from whose events they are made again.
    -- `digest` is the sum of a hash over offset and kind of each.
    create table retired_letter (
        subscriber text not null,
        topic      text not null,
        partition  integer not null,
        offsets    int8multirange not null,
        letters    bigint not null,
        digest     numeric not null,
        retired_at timestamptz not null default now(), -- the last of them
        primary key (subscriber, topic, partition)
    );

    -- `judged` as for tracking: a letter stays as long as Kafka has its record, which would bury it
    -- anew if it came again.
    create function retire_letters(
        of_subscriber text,
        closed_before timestamptz,
        judged jsonb,
        most integer
    )
    returns bigint
    language sql security definer set search_path = '' as $$
        with chosen as materialized (
            select letter.ctid as place
            from public.dead_letter as letter
            join public.dead_letter_acts as done
                on done.subscriber = letter.subscriber
                and done.topic = letter.topic
                and done.partition = letter.partition
                and done."offset" = letter."offset"
            where letter.subscriber = of_subscriber
                and done.is_closed
                and done.last_at < closed_before
                and coalesce(letter.written_by, 0) < least(
                    (judged->>'written_before')::bigint,
                    pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                )
                and letter."offset" < coalesce(
                    (
                        judged->'log_starts'
                        ->>concat_ws('/', letter.topic, letter.partition)
                    )::bigint,
                    0
                )
            limit most
            for update of letter skip locked
        ),
        deleted as (
            delete from public.dead_letter
            where ctid = any(array(select place from chosen))
            returning *
        ),
        hashed as (
            select *, sha256(convert_to(concat_ws(' ', "offset", kind), 'UTF8')) as hash
            from deleted
        ),
        noted as (
            insert into public.retired_letter (
                subscriber, topic, partition, offsets, letters, digest
            )
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
            set offsets = retired_letter.offsets + excluded.offsets,
                letters = retired_letter.letters + excluded.letters,
                digest = retired_letter.digest + excluded.digest,
                retired_at = now()
        )
        select count(*) from deleted
    $$;
"""
RIGHTS = """
    grant update (outcome) on dead_letter_act to resender;
    grant select on dead_letter_acts, retired_letter to reconciler;
    revoke execute on function is_open_letter, retire_letters from public;
    grant execute on function is_open_letter, retire_letters to purger;
    grant select on dead_letter, dead_letter_acts to purger;
"""
DOWN = """
    drop function retire_letters;
    drop function is_open_letter;
    drop table retired_letter;
    revoke select on dead_letter from purger;

    drop view dead_letter_acts;
    create view dead_letter_acts as
        select
            subscriber,
            topic,
            partition,
            "offset",
            bool_or(act = 'skip' or sent_offset is not null) as is_closed,
            json_agg(
                json_build_object(
                    'act', act,
                    'why', why,
                    'by', acted_by,
                    'at', acted_at,
                    'sent', sent_partition || '/' || sent_offset
                )
                order by id
            ) as acts
        from dead_letter_act
        group by subscriber, topic, partition, "offset";
    grant select on dead_letter_acts to reconciler;

    drop index dead_letter_act_not_over;
    alter table dead_letter_act drop column outcome, drop column message_id;
"""


def upgrade() -> None:
    """Note what became of letters, keep the open ones, and let `purger` delete closed ones."""
    op.execute(ENDS + RETIRED_LETTERS)
    op.execute(
        make_retire("event_type = 'record-dead-lettered' and public.is_open_letter(event_id)")
    )
    op.execute(RIGHTS)


def downgrade() -> None:
    """Take that away; letters that were deleted will seem to be missing."""
    op.execute(make_retire())
    op.execute(DOWN)
