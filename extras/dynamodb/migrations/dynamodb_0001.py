"""The fence of the dedup store `dynamodb`: the token of each message that was claimed there."""

from alembic import op

revision = "dynamodb_0001"
down_revision = "0001"

# Version 0.1 made the table outside of the migrations: where it is, it stays.
TABLE = """
    create table if not exists fence (
        subscriber text not null, message_id text not null,
        token      bigint not null,   -- who comes with a lower one comes too late
        done       boolean not null,  -- it had its effect
        touched_at timestamptz not null default now(),
        primary key (subscriber, message_id)
    );
    create index if not exists fence_touched_at
        on fence using brin (touched_at) with (pages_per_range = 16);
    grant select, insert, update on fence to app;
    grant select, delete, update (touched_at) on fence to purger; -- update: to lock what it deletes
"""


def upgrade() -> None:
    """Make the table, for those who work with it."""
    op.execute(TABLE)


def downgrade() -> None:
    """Leave nothing behind."""
    op.execute("drop table fence")
