"""An index for what was sent again: of each letter it is asked whether it is of such a record."""

from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add it; without it, each letter had all acts read."""
    op.execute(
        """
        create index dead_letter_act_sent
            on dead_letter_act (subscriber, sent_partition, sent_offset)
            where sent_offset is not null
        """
    )


def downgrade() -> None:
    """Take it away."""
    op.execute("drop index dead_letter_act_sent")
