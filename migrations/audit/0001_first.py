"""The audit entries, and the audit receiver's own outbox."""

from alembic import op

from migrations.outbox import DROP_OUTBOX, create_outbox

revision = "0001"
down_revision = None

TABLES = """
    -- One effect for each idempotency key: the primary key decides which of two requests came first.
    create table audit_entry (
        idempotency_key text primary key check (char_length(idempotency_key) between 1 and 128),
        audit_entry_id  uuid not null,
        message_id      text not null,
        order_id        text not null,
        outcome         text not null check (outcome in ('fulfilled', 'rejected')),
        fulfillment_id  uuid,
        total           numeric,
        body_sha256     bytea not null,  -- the same key with another body is a 422
        answer          json not null    -- replayed to whoever asks again
    );

    grant select, insert on audit_entry to audit;
    grant select on audit_entry to reconciler;"""


def upgrade() -> None:
    """Build everything, for those who work with it."""
    op.execute(create_outbox("'audit'", writer="audit") + TABLES)


def downgrade() -> None:
    """Leave nothing behind."""
    op.execute(f"drop table audit_entry; {DROP_OUTBOX}")
