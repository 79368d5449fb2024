"""Which input topic it is that was read, and which partitions of it each group has begun."""

from alembic import op

revision = "0009"
down_revision = "0008"

TABLES = """
    -- A topic that is deleted and created again has the same name and the same offsets, but another
    -- id and other records. `name` is what its records are called in all other tables and in
    -- events: the topic, and for those that come after the first one, topic@topic_id.
    create table input_topic (
        topic    text not null,
        topic_id text not null,
        name     text not null unique,
        seen_at  timestamptz not null default now(),
        primary key (topic, topic_id)
    );

    -- From its beginning on, a group has a committed offset in each partition. If it has none, then
    -- the offset was lost, and it is not a first start.
    create table input_partition (
        group_id  text not null,
        name      text not null references input_topic (name),
        partition integer not null,
        begun_at  timestamptz not null default now(),
        primary key (group_id, name, partition)
    );

    grant select, insert on input_topic, input_partition to app;
    grant select on input_topic, input_partition to reconciler;
"""


def upgrade() -> None:
    """Add the tables; each service fills them when it starts, with what is there now."""
    op.execute(TABLES)


def downgrade() -> None:
    """Take the tables away."""
    op.execute("drop table input_partition, input_topic")
