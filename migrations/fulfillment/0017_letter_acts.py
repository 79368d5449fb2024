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

    grant insert, select, update (sent_partition, sent_offset) on dead_letter_act to resender;
    grant select on dead_letter_act to reconciler;
"""


def upgrade() -> None:
    """Add the table."""
    op.execute(TABLE)


def downgrade() -> None:
    """Take it away: every dead letter is open again."""
    op.execute("drop table dead_letter_act")
