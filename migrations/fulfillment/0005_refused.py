"""When a record became a dead letter, and an index of what the audit receiver refused."""

from alembic import op

revision = "0005"
down_revision = "0004"

UPGRADE = """
    -- Those that are there stay without a time: they are not fresh.
    alter table dead_letter add column buried_at timestamptz;
    alter table dead_letter alter column buried_at set default now();

    -- As small as there are refusals: `pipeline status` counts them at each look.
    create index tracking_refused on tracking (handled_at) where audit_error is not null;
"""

DOWNGRADE = """
    drop index tracking_refused;
    alter table dead_letter drop column buried_at;
"""


def upgrade() -> None:
    """Add both; the app need not know them."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """Take both away."""
    op.execute(DOWNGRADE)
