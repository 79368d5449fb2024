"""Which subscriber publishes which events."""

from alembic import op

revision = "0003"
down_revision = "0001"

TABLES = """
    -- One subscriber for each event type: the primary key refuses a second one at its start.
    create table publisher (
        event_type text primary key,
        subscriber text not null
    );

    grant select, insert on publisher to app;
    grant select on publisher to reconciler;
"""


def upgrade() -> None:
    """Add the table; each service enters its event types when it starts."""
    op.execute(TABLES)


def downgrade() -> None:
    """Take the table away."""
    op.execute("drop table publisher")
