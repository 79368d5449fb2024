"""What other systems add to the trace of an event; and in whose trace an entry is sent again."""

from alembic import op

from migrations.outbox import ADD_TRACESTATE, DROP_TRACESTATE

revision = "0021"
down_revision = "0020"

# Entries from before this revision were sent without a trace: they are sent again as they were.
ADD_TRACE = """
    alter table audit_failure
        add column traceparent text,
        add column tracestate text;
"""


def upgrade() -> None:
    """Add the columns; events from before them have an empty one."""
    op.execute(ADD_TRACESTATE)
    op.execute(ADD_TRACE)


def downgrade() -> None:
    """Take them away."""
    op.execute("alter table audit_failure drop column traceparent, drop column tracestate")
    op.execute(DROP_TRACESTATE)
