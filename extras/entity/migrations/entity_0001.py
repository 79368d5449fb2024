"""The table of the dedup store `entity`: the ids of handled messages, in a row for each order."""

from alembic import op

revision = "entity_0001"
down_revision = "0001"

# Version 0.1 made the table outside of the migrations: where it is, it stays.
TABLE = """
    create table if not exists order_state (
        subscriber  text not null, order_id text not null,
        message_ids text[] not null default '{}', -- beside them, whatever else is known of it
        touched_at  timestamptz not null default now(),
        primary key (subscriber, order_id)
    );
    grant select, insert, update on order_state to app;
    grant select, update (message_ids) on order_state to purger;
"""


def upgrade() -> None:
    """Make the table, for those who work with it."""
    op.execute(TABLE)


def downgrade() -> None:
    """Leave nothing behind."""
    op.execute("drop table order_state")
