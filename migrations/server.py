"""What is the server's and not a database's, and cannot stand in a transaction: roles, databases, slots.

Every step here may be run as often as you like.
"""

from pathlib import Path
from typing import Any

from psycopg import sql
from sqlalchemy import Connection, Row, text

# owner owns every table and never logs in; cdc may read the log and nothing else; reconciler only reads.
ROLES = {"owner": "nologin", "app": "login", "audit": "login", "cdc": "login replication", "reconciler": "login"}


def make_roles(admin: Connection, secrets_dir: Path) -> None:
    """Make every role, and give those that log in the password of their secret file.

    Only the verifier is sent: the password itself stands in no statement and in no server log.
    """
    known = set(admin.scalars(text("select rolname from pg_roles")))
    for role, attributes in ROLES.items():
        admin.exec_driver_sql(f"{'alter' if role in known else 'create'} role {role} {attributes}")
        if attributes != "nologin":
            password = (secrets_dir / f"{role}_password").read_bytes().strip()
            driver: Any = admin.connection.driver_connection
            verifier = driver.pgconn.encrypt_password(password, role.encode(), b"scram-sha-256").decode()
            admin.exec_driver_sql(
                sql.SQL("alter role {} password {}").format(sql.Identifier(role), verifier).as_string()
            )


def make_database(admin: Connection, name: str) -> None:
    """Make a database that belongs to owner and that nobody enters without a grant."""
    quoted = sql.Identifier(name).as_string()
    if not admin.scalar(text("select true from pg_database where datname = :name"), {"name": name}):
        admin.exec_driver_sql(f"create database {quoted} owner owner")
    admin.exec_driver_sql(f"revoke all on database {quoted} from public")


def make_slot(admin: Connection, slot: str) -> None:
    """Make the slot before the first outbox row: what is written before a slot exists is never published."""
    state = slot_state(admin, slot)
    if state is None:
        admin.execute(text("select pg_create_logical_replication_slot(:slot, 'pgoutput')"), {"slot": slot})
    elif not state.ours:  # slots are the server's, not the database's
        raise SystemExit(f"slot {slot} belongs to database {state.database}: use --without-slots for a copy")


def drop_slot(admin: Connection, slot: str) -> None:
    """Drop the slot, unless somebody reads from it: then say so, and change nothing."""
    state = slot_state(admin, slot)
    if state and state.ours and state.active:
        raise SystemExit(f"slot {slot} is in use: stop its connector first, then run the downgrade again")
    if state and state.ours:
        admin.execute(text("select pg_drop_replication_slot(:slot)"), {"slot": slot})


def slot_state(admin: Connection, slot: str) -> Row[Any] | None:
    """Whether it is there, whose it is, and whether somebody reads from it."""
    query = "select active, database, database = current_database() as ours from pg_replication_slots"
    return admin.execute(text(f"{query} where slot_name = :slot"), {"slot": slot}).first()
