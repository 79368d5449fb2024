"""A way to send events of the outbox again, for the role that may do nothing else."""

from alembic import op

from migrations.outbox import CREATE_RESEND, DROP_RESEND

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Let `resender` send events again."""
    op.execute(CREATE_RESEND)


def downgrade() -> None:
    """Take that away."""
    op.execute(DROP_RESEND)
