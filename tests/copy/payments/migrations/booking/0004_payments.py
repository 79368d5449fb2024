"""Payments have an amount in a currency, and a booked one has a receipt."""

from alembic import op

revision = "0004"
down_revision = "0007"

UPGRADE = """
    alter table booking
        drop column lines,
        add column currency text not null;

    alter table outbox
        drop constraint outbox_aggregate_type_check,
        add constraint outbox_aggregate_type_check
            check (aggregate_type in ('booking', 'rejection', 'receipt', 'dead-letter'));
"""

DOWNGRADE = """
    alter table outbox
        drop constraint outbox_aggregate_type_check,
        add constraint outbox_aggregate_type_check
            check (aggregate_type in ('booking', 'rejection', 'dead-letter'));

    alter table booking
        drop column currency,
        add column lines json not null;
"""


def upgrade() -> None:
    """Say what is paid, and let receipts into the outbox."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """Take both back."""
    op.execute(DOWNGRADE)
