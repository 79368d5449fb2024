"""What `repair` has done about the findings of reconciliation, and the rights to do it."""

from alembic import op

revision = "0010"
down_revision = "0009"

TABLES = """
    -- An act is planned before it is done: one that was killed in between is done again, which
    -- changes nothing if it was done already.
    create table repair (
        run_id     text not null, -- the reconciliation that has found it
        hop        text not null,
        id         text not null,
        outcome    text not null,
        act        text not null,
        planned_by text not null,
        planned_at timestamptz not null default now(),
        done_at    timestamptz,
        primary key (run_id, hop, id)
    );

    grant select, insert, update (done_at) on repair to resender;
    grant select on repair to reconciler;

    -- An audit entry that is missing is put aside, and the service sends it again under its key.
    grant select (subscriber, message_id, topic, partition, "offset") on tracking to resender;
    grant select (subscriber, message_id), insert, update (retry_at) on audit_failure to resender;
"""


def upgrade() -> None:
    """Add the table, and let `resender` fill it and put audit entries aside."""
    op.execute(TABLES)


def downgrade() -> None:
    """Take the table and the rights away."""
    op.execute("""
        drop table repair;
        revoke all (subscriber, message_id, topic, partition, "offset") on tracking from resender;
        revoke all (subscriber, message_id, retry_at) on audit_failure from resender;
        revoke insert on audit_failure from resender
    """)
