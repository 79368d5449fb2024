"""What waits behind a dead letter of its key, for those who want a key's records in sequence."""

from alembic import op

revision = "0018"
down_revision = "0017"

TABLES = """
    -- A dead letter that holds its key: later records of the key wait. Keys may be longer than an
    -- index allows, so only their hash is kept.
    create table held_key (
        subscriber text not null,
        topic      text not null,
        partition  integer not null,
        "offset"   bigint not null,
        key_sha256 bytea not null check (octet_length(key_sha256) = 32),
        held_at    timestamptz not null default now(),
        primary key (subscriber, topic, partition, "offset")
    );
    create index on held_key (subscriber, key_sha256);

    -- The records that wait, as they came: the topic may have lost them when their turn comes.
    create table parked (
        id         bigint generated always as identity, -- the sequence in which they came
        subscriber text not null,
        topic      text not null,
        partition  integer not null,
        "offset"   bigint not null,
        key_sha256 bytea not null check (octet_length(key_sha256) = 32),
        key        bytea not null,
        value      bytea,
        headers    text not null, -- JSON: names, and values as base64
        parked_at  timestamptz not null default now(),
        tries      integer not null default 0, -- begun since then, and never ended
        primary key (subscriber, topic, partition, "offset")
    );
    create index on parked (subscriber, key_sha256, id);

    grant select, insert, delete on held_key, parked to app;
    grant update (tries) on parked to app;
    grant select on dead_letter_act to app; -- a letter that was skipped holds nothing any more
    grant select on held_key, parked to reconciler;
"""


def upgrade() -> None:
    """Add the tables; letters that were buried before hold nothing."""
    op.execute(TABLES)


def downgrade() -> None:
    """Take the tables away; what waits is then on the topic alone."""
    op.execute("revoke select on dead_letter_act from app; drop table parked, held_key")
