"""The entries that the audit receiver has not taken, with all that is needed to send them again."""

from alembic import op

revision = "0008"
down_revision = "0007"

TABLES = """
    create table audit_failure (
        subscriber    text not null,
        message_id    text not null,
        topic         text not null,
        partition     integer not null,
        "offset"      bigint not null,
        body          json not null, -- as it was sent first: the key belongs to these bytes
        reason        text not null, -- the latest answer
        failing_since timestamptz not null default now(),
        retry_at      timestamptz,   -- null: refused for good, until `pipeline audit retry`
        primary key (subscriber, message_id)
    );

    grant select, insert, update (reason, retry_at), delete on audit_failure to app;
    grant select on audit_failure to reconciler;

    -- For `pipeline audit retry`.
    grant select, update (reason), delete on audit_failure to purger;
    grant update (audited_at, audit_error) on tracking to purger;
"""

# What was refused before this revision: its body repeats what the event says.
REFUSED_BEFORE = """
    insert into audit_failure (
        subscriber, message_id, topic, partition, "offset", body, reason, failing_since
    )
    select
        subscriber,
        message_id,
        topic,
        partition,
        "offset",
        json_build_object(
            'message_id', message_id,
            'order_id', payload->>'order_id',
            'outcome', case event_type when 'order-fulfilled' then 'fulfilled' else 'rejected' end,
            'fulfillment_id', payload->>'fulfillment_id',
            'total', payload->>'total'
        ),
        audit_error,
        handled_at
    from tracking
    join outbox on payload->>'message_id' = message_id
    where subscriber = 'fulfillment'
        and audit_error is not null
        and event_type in ('order-fulfilled', 'order-rejected')
    on conflict do nothing
"""


def upgrade() -> None:
    """Add the table; from now on the service fills it."""
    op.execute(TABLES)
    op.execute(REFUSED_BEFORE)


def downgrade() -> None:
    """Take it away, and with it the purger's right to say that an entry was audited."""
    op.execute(
        "drop table audit_failure; revoke update (audited_at, audit_error) on tracking from purger"
    )
