"""Tracking, fulfillment, dead letter, and the outbox."""

from alembic import op

from migrations.outbox import DROP_OUTBOX, create_outbox

revision = "0001"
down_revision = None

TABLES = """
    -- The proof that a message was handled: its primary key decides who was first.
    create table tracking (
        subscriber   text not null,
        message_id   text not null check (char_length(message_id) between 1 and 64),
        value_sha256 bytea not null check (octet_length(value_sha256) = 32), -- the same id with another value
                                                                             -- is a conflict, not a repeat
        topic text not null, partition integer not null, "offset" bigint not null,
        audited_at   timestamptz,   -- null: a redelivery must POST again
        audit_error  text,          -- the audit receiver refused the entry for good
        handled_at   timestamptz not null default now(), -- for retention
        primary key (subscriber, message_id));

    -- Rows come in the sequence of their age: an index of a few pages is enough to find the oldest.
    create index tracking_handled_at on tracking using brin (handled_at) with (pages_per_range = 16);

    -- One fulfillment for each order: the primary key is the promise.
    create table fulfillment (
        order_id       text primary key check (char_length(order_id) between 1 and 64),
        fulfillment_id uuid not null,
        message_id     text not null,
        customer_id    text not null,
        placed_at      timestamptz not null,
        lines          json not null,
        total          numeric not null);

    -- A record that is no order; its bytes are in the outbox.
    create table dead_letter (
        topic text not null, partition integer not null, "offset" bigint not null,
        kind   text not null check (kind in ('invalid', 'conflict', 'too_large')),
        reason text not null,
        primary key (topic, partition, "offset"));

    -- Who fulfilled an order. VOLATILE on purpose: it looks with a snapshot of its own, so it also sees
    -- what another worker committed while the calling statement waited for it.
    create function fulfilled_by(wanted_order text) returns text language sql volatile as
        'select message_id from fulfillment where order_id = wanted_order';

    grant select, insert on tracking, fulfillment, dead_letter to app;
    grant update (audited_at, audit_error) on tracking to app;
    grant select on tracking, fulfillment, dead_letter to reconciler;
    grant select, delete, update (handled_at) on tracking to purger; -- update: to lock the rows that it deletes"""


def upgrade() -> None:
    """Build everything, for those who work with it."""
    op.execute(create_outbox("'fulfillment', 'rejection', 'dead-letter'", writer="app") + TABLES)


def downgrade() -> None:
    """Leave nothing behind."""
    op.execute(
        f"drop function fulfilled_by; drop table dead_letter, fulfillment, tracking; {DROP_OUTBOX}"
    )
