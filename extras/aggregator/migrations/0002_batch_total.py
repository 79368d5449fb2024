"""The aggregator's groups: where each began, how far each partition is summed, and totals in the outbox."""

from alembic import op

revision = "0002"
down_revision = "0001"

TABLES = """
    -- An open group, with the place of its first message. Whoever deletes the row publishes the group.
    create table open_batch (
        topic text not null, partition integer not null, "offset" bigint not null,
        batch_id        text not null check (char_length(batch_id) between 1 and 64),
        complete_offset bigint,  -- its completion was met by a consumer that had missed its beginning: replay it
        begun_at        timestamptz not null default now(),
        looked_at       timestamptz not null default now(), -- last replayed, and still open
        primary key (topic, partition, "offset")
    );

    -- Everything below this offset is summed or buried. It moves with what it has brought about, in one
    -- transaction, and only from where the mover believed it to be: a consumer that lost its partition fails.
    create table batch_position (
        topic text not null, partition integer not null, "offset" bigint not null,
        primary key (topic, partition)
    );

    grant select, insert, delete, update (complete_offset, looked_at) on open_batch to app;
    grant select, insert, update ("offset") on batch_position to app;
    grant select on open_batch, batch_position to reconciler;
"""
AGGREGATE_TYPES = """
    alter table outbox drop constraint outbox_aggregate_type_check;
    alter table outbox add constraint outbox_aggregate_type_check check (aggregate_type in ({}));
"""
FIRST = "'fulfillment', 'rejection', 'dead-letter'"


def upgrade() -> None:
    """Add the tables, and let totals into the outbox."""
    op.execute(TABLES + AGGREGATE_TYPES.format(f"{FIRST}, 'batch-total'"))


def downgrade() -> None:
    """Leave no group and no total behind."""
    gone = "drop table batch_position, open_batch; delete from outbox where aggregate_type = 'batch-total';"
    op.execute(gone + AGGREGATE_TYPES.format(FIRST))
