"""A version for each aggregate that publishes events of an order, and no longer one for all."""

from alembic import op

revision = "version_0002"
down_revision = "version_0001"

# What is there was published by one aggregate that gives no name.
SOURCE = """
    alter table order_version add column if not exists source text not null default '';
    alter table order_version drop constraint order_version_pkey;
    alter table order_version add primary key (subscriber, order_id, source);
"""
# The names would be lost, and with them what each aggregate has published: the highest is kept.
NO_SOURCE = """
    delete from order_version as lower
    using order_version as higher
    where higher.subscriber = lower.subscriber
        and higher.order_id = lower.order_id
        and (higher.version, higher.source) > (lower.version, lower.source);
    alter table order_version drop constraint order_version_pkey;
    alter table order_version drop column source;
    alter table order_version add primary key (subscriber, order_id);
"""


def upgrade() -> None:
    """Tell publishers apart."""
    op.execute(SOURCE)


def downgrade() -> None:
    """Count all as one again."""
    op.execute(NO_SOURCE)
