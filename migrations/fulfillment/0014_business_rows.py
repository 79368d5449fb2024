"""What the business's own rows need to tell a message that comes again, long after it was handled.

Tracking rows are forgotten; a fulfillment and a rejection stay for ever. Each says which message it
is about and of which value, so that a repeat is a repeat, and another value is a conflict.

On a large table this takes a while, and nobody waits for it: the columns are added at once, rows
are filled in a few pages at a time, and the index is built beside the writers. The table and its
index on orders grow by a copy of each row that is filled, which vacuum lets new rows have.
Killed in between, it is run again and goes on.
"""

from alembic import op
from sqlalchemy import text

revision = "0014"
down_revision = "0013"

TABLES = """
    -- Whose row it is, as in tracking. The default stays, for services of the version before that
    -- still run while this is applied; the rows that are there are the default subscriber's.
    alter table fulfillment
        add column if not exists subscriber text not null default 'fulfillment',
        add column if not exists value_sha256 bytea; -- null: not known

    -- An order that will not be fulfilled, and why: one row for each message that was rejected.
    create table if not exists rejection (
        subscriber   text not null,
        message_id   text not null,
        order_id     text not null,
        reason       text not null,
        fulfilled_by text,  -- null: the reason has no winner
        value_sha256 bytea, -- null: not known
        written_by   bigint default pg_current_xact_id()::text::bigint, -- null: it is older
        primary key (subscriber, message_id)
    );
    create index if not exists rejection_written_by
        on rejection using brin (written_by) with (pages_per_range = 16);

    -- What the business's rows know of these messages. By index, whatever the planner expects: a
    -- plan that was made while the tables were small stays for a while. As many rows as a batch
    -- has: of a hundred it would expect that they leave one message, and join in nested loops.
    create or replace function handled_before(whose text, ids text[])
    returns table (message_id text, value_sha256 bytea)
    language sql stable rows 500 set enable_seqscan = off as $$
        select fulfillment.message_id, fulfillment.value_sha256
        from fulfillment
        where fulfillment.message_id = any(ids) and fulfillment.subscriber = whose
        union all
        select rejection.message_id, rejection.value_sha256
        from rejection
        where rejection.message_id = any(ids) and rejection.subscriber = whose
    $$;

    grant select, insert on rejection to app;
    grant select on rejection to reconciler;
"""

PAGES = "select pg_relation_size('fulfillment') / current_setting('block_size')::bigint"
PAGES_AT_ONCE = 1000

# Each row is filled where it was: what is written meanwhile, and what this writes, is filled.
FILL_FULFILLMENTS = """
    update fulfillment
    set value_sha256 = tracking.value_sha256
    from tracking
    where fulfillment.ctid >= '({first},0)'
        and fulfillment.ctid < '({behind},0)'
        and fulfillment.value_sha256 is null
        and tracking.subscriber = fulfillment.subscriber
        and tracking.message_id = fulfillment.message_id
"""

# What was rejected, as far as its event is still in the outbox.
FILL_REJECTIONS = """
    insert into rejection (
        subscriber, message_id, order_id, reason, fulfilled_by, value_sha256, written_by
    )
    select
        'fulfillment',
        payload->>'message_id',
        payload->>'order_id',
        payload->>'reason',
        payload->>'fulfilled_by',
        tracking.value_sha256,
        null
    from outbox
    left join tracking
        on tracking.subscriber = 'fulfillment' and tracking.message_id = payload->>'message_id'
    where event_type = 'order-rejected'
    on conflict do nothing
"""

# A message that comes again may name another order: only its own id finds its row. An index that
# was not finished is of no use.
INDEX = (
    "drop index concurrently if exists fulfillment_message_id",
    "create index concurrently fulfillment_message_id on fulfillment (message_id)",
)

DOWNGRADE = """
    drop function handled_before;
    drop table rejection;
    drop index fulfillment_message_id;
    alter table fulfillment drop column value_sha256, drop column subscriber
"""


def upgrade() -> None:
    """Add the table and the columns, and fill them with what is known; the last part in pieces."""
    op.execute(TABLES)
    with op.get_context().autocommit_block():
        fill_fulfillments()
        for statement in INDEX:
            op.execute(statement)
        op.execute(FILL_REJECTIONS)


def fill_fulfillments() -> None:
    """Take the values that tracking still knows, a few pages in each transaction."""
    connection = op.get_bind()
    pages = connection.execute(text(PAGES)).scalar_one()
    for first in range(0, pages, PAGES_AT_ONCE):
        statement = FILL_FULFILLMENTS.format(first=first, behind=first + PAGES_AT_ONCE)
        op.execute(statement)


def downgrade() -> None:
    """Take both away; a message that comes again after that is fresh."""
    op.execute(DOWNGRADE)
