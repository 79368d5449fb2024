"""What `pipeline forget` has deleted from tracking, so that it does not seem to be lost."""

from alembic import op

revision = "0011"
down_revision = "0010"

TABLE = """
    -- Neighbours are one range, so this stays small however much is forgotten. `digest` is the sum
    -- of a hash over offset, message and value of each row.
    create table forgotten (
        subscriber   text not null,
        topic        text not null,
        partition    integer not null,
        offsets      int8multirange not null,
        messages     bigint not null,
        digest       numeric not null,
        forgotten_at timestamptz not null default now(), -- the last of them
        primary key (subscriber, topic, partition)
    );

    grant select, insert, update on forgotten to purger;
    grant select on forgotten to reconciler;
"""


def upgrade() -> None:
    """Add the table; what was forgotten before is not in it."""
    op.execute(TABLE)


def downgrade() -> None:
    """Take the table away; what is in it will seem to be missing."""
    op.execute("drop table forgotten")
