"""What was screened, and its place in the outbox."""

from alembic import op

from migrations.aggregate_types import allow_aggregate_type, forbid_aggregate_type

revision = "screening_0001"
down_revision = "0001"

TABLES = """
    create table screening (
        message_id text primary key,
        payment_id text not null,
        is_suspicious boolean not null
    );

    grant select, insert on screening to app;
    grant select on screening to reconciler;
"""


def upgrade() -> None:
    """Add the table, and let its events into the outbox."""
    op.execute(TABLES)
    allow_aggregate_type("screening")


def downgrade() -> None:
    """Take both back."""
    forbid_aggregate_type("screening")
    op.execute("drop table screening")
