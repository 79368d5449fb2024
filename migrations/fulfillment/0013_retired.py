"""A way to delete old events of the outbox, and a note of what was deleted."""

from alembic import op

from migrations.retired import CREATE_RETIRED, DROP_RETIRED

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Let `purger` delete old events."""
    op.execute(CREATE_RETIRED)


def downgrade() -> None:
    """Take that away; what was deleted will seem to be missing."""
    op.execute(DROP_RETIRED)
