"""Which aggregate types the outbox takes: the core, the extras and a copy may each add some.

A revision that gave a list of its own would take back what another has added.
"""

import re

from alembic import op
from sqlalchemy import Connection, text

CHECK = text("""
    select pg_get_constraintdef(oid)
    from pg_constraint
    where conrelid = 'outbox'::regclass and conname = 'outbox_aggregate_type_check'
""")
REPLACE = """
    alter table outbox
        drop constraint outbox_aggregate_type_check,
        add constraint outbox_aggregate_type_check check (aggregate_type in ({types}))
"""


def allow_aggregate_type(name: str) -> None:
    """Let one more aggregate type into the outbox; for a revision's upgrade."""
    types = read_aggregate_types(op.get_bind()) | {name}
    replace_aggregate_types(types)


def forbid_aggregate_type(name: str) -> None:
    """Take an aggregate type back, with the rows that have it; for a revision's downgrade."""
    delete = text("delete from outbox where aggregate_type = :name")
    op.execute(delete.bindparams(name=name))
    types = read_aggregate_types(op.get_bind()) - {name}
    replace_aggregate_types(types)


def read_aggregate_types(connection: Connection) -> set[str]:
    """Return what the outbox takes now."""
    check = connection.execute(CHECK).scalar_one()
    return set(re.findall(r"'([^']+)'", check))


def replace_aggregate_types(types: set[str]) -> None:
    """Let these aggregate types into the outbox, and no other."""
    quoted = ", ".join(f"'{name}'" for name in sorted(types))
    op.execute(REPLACE.format(types=quoted))
