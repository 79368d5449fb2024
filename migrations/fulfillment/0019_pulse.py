"""An event for each pulse: a record that only measures how long the way takes."""

from migrations.aggregate_types import allow_aggregate_type, forbid_aggregate_type

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Let pulses into the outbox."""
    allow_aggregate_type("pulse")


def downgrade() -> None:
    """Take them out again."""
    forbid_aggregate_type("pulse")
