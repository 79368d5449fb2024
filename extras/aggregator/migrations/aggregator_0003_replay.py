"""Whether an event comes of a replay: Connect makes a header of the column (extra.toml)."""

from alembic import op

revision = "aggregator_0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; what nobody marks, the rest of the pipeline's events too, is no replay."""
    op.execute("alter table outbox add column replay boolean not null default false")


def downgrade() -> None:
    """Take the mark away."""
    op.execute("alter table outbox drop column replay")
