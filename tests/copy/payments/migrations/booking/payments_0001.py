"""Payments have an amount in a currency, and a booked one has a receipt."""

from alembic import op

from migrations.aggregate_types import allow_aggregate_type, forbid_aggregate_type

revision = "payments_0001"
down_revision = "0001"


def upgrade() -> None:
    """Say what is paid, and let receipts into the outbox."""
    op.execute("alter table booking drop column lines, add column currency text not null")
    allow_aggregate_type("receipt")


def downgrade() -> None:
    """Take both back."""
    forbid_aggregate_type("receipt")
    op.execute("alter table booking drop column currency, add column lines json not null")
