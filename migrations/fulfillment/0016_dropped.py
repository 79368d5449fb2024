"""What a dedup store has dropped because it came out of sequence, so that it does not seem lost."""

from alembic import op

revision = "0016"
down_revision = "0015"

# Written in the transaction in which the store passes the message over. `value_sha256` finds the
# copies of the record.
TABLE = """
    create table dropped (
        subscriber   text not null,
        topic        text not null,
        partition    integer not null,
        "offset"     bigint not null,
        message_id   text not null,
        value_sha256 bytea not null,
        dropped_at   timestamptz not null default now(),
        primary key (subscriber, topic, partition, "offset")
    );

    grant insert on dropped to app;
    grant select on dropped to reconciler;
"""


def upgrade() -> None:
    """Add the table; what was dropped before is not in it."""
    op.execute(TABLE)


def downgrade() -> None:
    """Take the table away; what is in it will seem to be missing."""
    op.execute("drop table dropped")
