"""What other systems add to the trace of an event: a header of its own."""

from alembic import op

from migrations.outbox import ADD_TRACESTATE, DROP_TRACESTATE

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column; events from before it have an empty one."""
    op.execute(ADD_TRACESTATE)


def downgrade() -> None:
    """Take it away."""
    op.execute(DROP_TRACESTATE)
