"""The transaction that wrote a row, for reconciliation."""

from alembic import op

from migrations.written_by import forget_writer, note_writer

revision = "0012"
down_revision = "0011"

TABLES = ("tracking", "fulfillment", "dead_letter", "outbox")


def upgrade() -> None:
    """Note it from now on."""
    op.execute(note_writer(TABLES))


def downgrade() -> None:
    """Take that away."""
    op.execute(forget_writer(TABLES))
