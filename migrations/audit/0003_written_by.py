"""The transaction that wrote a row, for reconciliation."""

from alembic import op

from migrations.written_by import forget_writer, note_writer

revision = "0003"
down_revision = "0002"

TABLES = ("audit_entry", "outbox")


def upgrade() -> None:
    """Note it from now on."""
    op.execute(note_writer(TABLES))


def downgrade() -> None:
    """Take that away."""
    op.execute(forget_writer(TABLES))
