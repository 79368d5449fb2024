"""What the database and the audit receiver have refused, and what people allow all the same."""

from alembic import op

revision = "0006"
down_revision = "0005"

TABLES = """
    -- One row for each record and what refused it: after enough of one cause, the next waits.
    create table refusal (
        subscriber text not null,    -- whose write it was: another one may take the same record
        kind       text not null check (kind in ('database', 'audit')),
        code       text not null,    -- a SQLSTATE, or a status of the audit receiver
        name       text not null,    -- the constraint, column or function; empty if none is named
        topic      text not null,
        partition  integer not null,
        "offset"   bigint not null,
        is_waiting boolean not null, -- or it was given up: buried, or marked as refused
        refused_at timestamptz not null default now(),
        primary key (subscriber, kind, code, name, topic, partition, "offset")
    );

    -- A person takes the responsibility: records that this cause refuses are given up until then.
    create table refusal_allowed (
        id            bigint generated always as identity primary key,
        kind          text not null check (kind in ('database', 'audit')),
        code          text not null,
        name          text, -- null: whatever the name
        allowed_by    text not null,
        allowed_at    timestamptz not null default now(),
        allowed_until timestamptz not null
    );

    grant select, insert, update (is_waiting, refused_at) on refusal to app;
    grant select on refusal_allowed to app;
    grant select on refusal to purger;
    grant select, insert on refusal_allowed to purger;
    grant select on refusal, refusal_allowed to reconciler;
"""


def upgrade() -> None:
    """Add the tables; the service and `pipeline dead-letters allow` fill them."""
    op.execute(TABLES)


def downgrade() -> None:
    """Take them away."""
    op.execute("drop table refusal, refusal_allowed")
