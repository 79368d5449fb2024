"""Roles, databases and slots: they belong to the server, and cannot be made in a transaction.

Every step here may be run as often as you like.
"""

from pathlib import Path

from psycopg import Connection, errors, sql

from contract.names import AUDIT_DATABASE, DATABASE

ROLES = {
    "owner": "nologin",  # owns every table
    "cdc": "login replication",  # reads the log and nothing else
    "app": "login",
    "audit": "login",
    "reconciler": "login",  # only reads
    "purger": "login",  # deletes what was handled long ago
}
MAY_ENTER = {
    DATABASE: "app, cdc, reconciler, purger",
    AUDIT_DATABASE: "audit, cdc, reconciler",
}


def make_roles(admin: Connection, secrets_dir: Path) -> None:
    """Make every role, and give those that log in the password of their secret file.

    Only the verifier is sent: the password itself is in no statement and in no server log.
    """
    known = {role for (role,) in admin.execute("select rolname from pg_roles")}
    for role, attributes in ROLES.items():
        verb = "alter" if role in known else "create"
        admin.execute(f"{verb} role {role} {attributes}".encode())
        if attributes != "nologin":
            set_password(admin, role, (secrets_dir / f"{role}_password").read_bytes().strip())


def set_password(admin: Connection, role: str, password: bytes) -> None:
    """Give a role its password, as a verifier that is made here."""
    encrypted = admin.pgconn.encrypt_password(password, role.encode(), b"scram-sha-256")
    admin.execute(f"alter role {role} password '{encrypted.decode()}'".encode())


def make_database(admin: Connection, name: str, roles: str) -> None:
    """Make a database that belongs to owner, and that only these roles may enter."""
    quoted = sql.Identifier(name).as_string()
    found = admin.execute("select 1 from pg_database where datname = %s", [name])
    if not found.fetchone():
        admin.execute(f"create database {quoted} owner owner".encode())
    admin.execute(f"revoke all on database {quoted} from public".encode())
    admin.execute(f"grant connect on database {quoted} to {roles}".encode())


def make_slot(admin: Connection, slot: str) -> None:
    """Make the slot before the first outbox row: rows from before a slot are never published."""
    found = admin.execute(
        "select database from pg_replication_slots where slot_name = %s", [slot]
    ).fetchone()
    if found is None:
        admin.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
    elif found != (admin.info.dbname,):  # slots are the server's, not the database's
        raise SystemExit(
            f"slot {slot} belongs to database {found[0]}: use --without-slots for a copy"
        )


def drop_slot(admin: Connection, slot: str) -> None:
    """Drop the slot of this database; if a connector reads from it, say so and change nothing."""
    drop = """
        select pg_drop_replication_slot(slot_name)
        from pg_replication_slots
        where slot_name = %s and database = current_database()
    """
    try:
        admin.execute(drop, [slot])
    except errors.ObjectInUse as error:
        raise SystemExit(
            f"slot {slot} is in use: stop its connector first, then run the downgrade again"
        ) from error
