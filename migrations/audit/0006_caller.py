"""Who has sent an entry: its key belongs to this caller."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; entries from before it are anybody's."""
    op.execute("alter table audit_entry add column caller text")


def downgrade() -> None:
    """Take it away: then a key is everybody's."""
    op.execute("alter table audit_entry drop column caller")
