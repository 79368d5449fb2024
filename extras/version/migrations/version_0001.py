"""The table of the dedup store `version`: the highest version of each order."""

from alembic import op

revision = "version_0001"
down_revision = "0001"

# Version 0.1 made the table outside of the migrations: where it is, it stays.
TABLE = """
    create table if not exists order_version (
        subscriber text not null, order_id text not null,
        -- Compared as text, as event ids are: so all have one width.
        version    text collate "C" not null check (char_length(version) = 18),
        touched_at timestamptz not null default now(),
        primary key (subscriber, order_id)
    );
    grant select, insert, update on order_version to app;
    -- update: to lock what it deletes
    grant select, delete, update (touched_at) on order_version to purger;
"""


def upgrade() -> None:
    """Make the table, for those who work with it."""
    op.execute(TABLE)


def downgrade() -> None:
    """Leave nothing behind."""
    op.execute("drop table order_version")
