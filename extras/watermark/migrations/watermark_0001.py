"""The table of the dedup store `watermark`: the highest sequence number of each partition."""

from alembic import op

revision = "watermark_0001"
down_revision = "0001"

# Version 0.1 made the table outside of the migrations: where it is, it stays.
TABLE = """
    create table if not exists watermark (
        subscriber text not null, topic text not null, partition integer not null,
        sequence   bigint not null,  -- every number up to this one was handled, or never will be
        primary key (subscriber, topic, partition)
    );
    grant select, insert, update on watermark to app;
"""


def upgrade() -> None:
    """Make the table, for those who work with it."""
    op.execute(TABLE)


def downgrade() -> None:
    """Leave nothing behind."""
    op.execute("drop table watermark")
