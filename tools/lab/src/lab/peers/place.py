"""Where a peer keeps its rows: a database of its own on the stack's server, empty each time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import make_url

from lab.environment import connect_as_admin
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until

DATABASE = "peer"
SECONDS = 30
DROP_SLOTS = """
    select pg_drop_replication_slot(slot_name)
    from pg_replication_slots
    where database = %s and not active
"""
CONFIRMED = """
    select confirmed_flush_lsn::text
    from pg_replication_slots
    where database = %s
    order by slot_name
"""
SLOTS = "select count(*) from pg_replication_slots where database = %s"


@contextmanager
def own_database(stack: Stack) -> Iterator[dict[str, str]]:
    """Have an empty database for a block; yield the environment in which a peer finds it."""
    env = stack.env()
    url = make_url(env["ADMIN_DATABASE_URL"]).set(database=DATABASE)
    with connect_as_admin(env) as admin:
        admin.execute(f"create database {DATABASE}".encode())
        admin.execute("checkpoint")  # full-page images then hit every measurement alike
    try:
        yield env | {"DATABASE_URL": url.render_as_string()}
    finally:
        drop(env)


def drop(env: Mapping[str, str]) -> None:
    """Drop the database and what still reads its log."""
    with connect_as_admin(dict(env)) as admin:

        def has_no_slot() -> bool:
            admin.execute(DROP_SLOTS, [DATABASE])
            return admin.execute(SLOTS, [DATABASE]).fetchone() == (0,)

        if not until(has_no_slot, SECONDS):
            raise StackError(f"a slot of the database {DATABASE} is still read after {SECONDS} s")
        admin.execute(f"drop database {DATABASE} with (force)".encode())


def read_slots(env: Mapping[str, str]) -> list[str]:
    """Return how far the slots of the database are read for good."""
    with connect_as_admin(dict(env)) as admin:
        return [position for (position,) in admin.execute(CONFIRMED, [DATABASE])]


def has_moved(env: Mapping[str, str], before: list[str]) -> bool:
    """Return whether the slots have moved since; where there is none, nothing has to."""
    return not before or read_slots(env) != before


def read_number(env: Mapping[str, str], query: str) -> int:
    """Return the one number that a query gives."""
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        row = admin.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
