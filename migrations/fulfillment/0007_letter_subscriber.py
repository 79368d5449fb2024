"""Whose dead letter it is: what one subscriber cannot take, another may handle."""

from alembic import op

revision = "0007"
down_revision = "0006"

# The default stays, for services of the version before that still run while this is applied.
UPGRADE = """
    alter table dead_letter
        add column subscriber text not null default 'fulfillment',
        drop constraint dead_letter_pkey,
        add primary key (subscriber, topic, partition, "offset");
"""

DOWNGRADE = """
    delete from dead_letter as other
    using dead_letter as kept
    where other.topic = kept.topic
        and other.partition = kept.partition
        and other."offset" = kept."offset"
        and other.subscriber > kept.subscriber;

    alter table dead_letter
        drop column subscriber,
        add primary key (topic, partition, "offset");
"""


def upgrade() -> None:
    """Give each dead letter its subscriber; those that are there are the default one's."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """Keep one dead letter for each record."""
    op.execute(DOWNGRADE)
