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
    "purger": "login",  # deletes what is old, and notes what people decide
    "resender": "login",  # sends again what did not arrive: events, audit entries
    "standby": "login replication",  # copies the whole server, and enters neither database
}
# When a transaction began is shown to its own role only, and to these.
SEE_TRANSACTIONS = ("reconciler",)
MAY_ENTER = {
    DATABASE: "app, cdc, reconciler, purger, resender",
    AUDIT_DATABASE: "audit, cdc, reconciler, purger, resender",
}


def make_roles(admin: Connection, secrets_dir: Path) -> None:
    """Make every role, and give those that log in the password of their secret file.

    Only the verifier is sent: the password itself is in no statement and in no server log.
    """
    found = admin.execute("select rolname from pg_roles")
    known = {role for (role,) in found}
    for role, attributes in ROLES.items():
        verb = "alter" if role in known else "create"
        execute(admin, f"{verb} role {role} {attributes}")
        if attributes != "nologin":
            password_file = secrets_dir / f"{role}_password"
            password = password_file.read_bytes().strip()
            set_password(admin, role, password)
    for role in SEE_TRANSACTIONS:
        execute(admin, f"grant pg_read_all_stats to {role}")


def set_password(admin: Connection, role: str, password: bytes) -> None:
    """Give a role its password, as a verifier that is made here."""
    encrypted = admin.pgconn.encrypt_password(password, role.encode(), b"scram-sha-256")
    verifier = encrypted.decode()
    execute(admin, f"alter role {role} password '{verifier}'")


def make_database(admin: Connection, name: str, roles: str) -> None:
    """Make a database that belongs to owner, and that only these roles may enter."""
    quoted = sql.Identifier(name).as_string()
    found = admin.execute("select 1 from pg_database where datname = %s", [name])
    exists = found.fetchone() is not None
    if not exists:
        execute(admin, f"create database {quoted} owner owner")
    execute(admin, f"revoke all on database {quoted} from public")
    execute(admin, f"grant connect on database {quoted} to {roles}")


def execute(admin: Connection, statement: str) -> None:
    """Run a statement with names in it, which cannot be parameters."""
    admin.execute(statement.encode())


def make_slot(admin: Connection, slot: str) -> None:
    """Make the slot before the first outbox row: rows from before a slot are never published.

    With `failover`, a standby that synchronizes slots has it too when it is promoted.
    """
    create = "select pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)"
    query = "select database from pg_replication_slots where slot_name = %s"
    row = admin.execute(query, [slot]).fetchone()
    if row is None:
        admin.execute(create, [slot])
        return
    [database] = row
    if database != admin.info.dbname:  # slots are the server's, not the database's
        raise SystemExit(
            f"slot {slot} belongs to database {database}: use --without-slots for a copy"
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
