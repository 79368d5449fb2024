"""A way to delete old events of the outbox, and a note of what was deleted."""

from alembic import op

from migrations.retired import CREATE_RETIRED, DROP_RETIRED

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Let `purger` delete old events."""
    op.execute(CREATE_RETIRED)


def downgrade() -> None:
    """Take that away; what was deleted will seem to be missing."""
    op.execute(DROP_RETIRED)
