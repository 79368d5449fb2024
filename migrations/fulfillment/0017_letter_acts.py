"""What people have done about dead letters: sent again, or left as they are, and why."""

from alembic import op

revision = "0017"
down_revision = "0016"

TABLE = """
    -- An act is written before it is done: without a place of the record that was sent, nobody
    -- knows whether it was, and it is done again.
    create table dead_letter_act (
        id           bigint generated always as identity primary key,
        subscriber   text not null,
        topic        text not null,
        partition    integer not null,
        "offset"     bigint not null,
        act          text not null check (act in ('replay', 'skip')),
        why          text not null,
        acted_by     text not null,
        acted_at     timestamptz not null default now(),
        sent_partition integer, -- where a replay has sent the record
        sent_offset    bigint
    );
    create index on dead_letter_act (subscriber, topic, partition, "offset");

    -- What was done about each letter, and whether that closes it.
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

    grant insert, select, update (sent_partition, sent_offset) on dead_letter_act to resender;
    grant select on dead_letter_act, dead_letter_acts to reconciler;
"""


def upgrade() -> None:
    """Add the table."""
    op.execute(TABLE)


def downgrade() -> None:
    """Take it away: every dead letter is open again."""
    op.execute("drop view dead_letter_acts; drop table dead_letter_act")
