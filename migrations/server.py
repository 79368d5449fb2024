"""What is the server's and not a database's, and cannot stand in a transaction: roles, databases, slots.

Every step here may be run as often as you like.
"""

from pathlib import Path

from psycopg import Connection, errors, sql

# owner owns every table and never logs in; cdc may read the log and nothing else; reconciler only reads; purger
# deletes what was handled long ago.
LOGIN = dict.fromkeys(("app", "audit", "reconciler", "purger"), "login")
ROLES = {"owner": "nologin", "cdc": "login replication", **LOGIN}
MAY_ENTER = {"fulfillment": "app, cdc, reconciler, purger", "audit": "audit, cdc, reconciler"}


def make_roles(admin: Connection, secrets_dir: Path) -> None:
    """Make every role, and give those that log in the password of their secret file.

    Only the verifier is sent: the password itself stands in no statement and in no server log.
    """
    known = {role for (role,) in admin.execute("select rolname from pg_roles")}
    for role, attributes in ROLES.items():
        admin.execute(f"{'alter' if role in known else 'create'} role {role} {attributes}")
        if attributes != "nologin":
            password = (secrets_dir / f"{role}_password").read_bytes().strip()
            verifier = admin.pgconn.encrypt_password(
                password, role.encode(), b"scram-sha-256"
            ).decode()
            admin.execute(f"alter role {role} password '{verifier}'")


def make_database(admin: Connection, name: str, roles: str) -> None:
    """Make a database that belongs to owner and that nobody else enters than these roles."""
    quoted = sql.Identifier(name).as_string()
    if not admin.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
        admin.execute(f"create database {quoted} owner owner")
    admin.execute(
        f"revoke all on database {quoted} from public; grant connect on database {quoted} to {roles}"
    )


def make_slot(admin: Connection, slot: str) -> None:
    """Make the slot before the first outbox row: what is written before a slot exists is never published."""
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
    """Drop the slot of this database, unless somebody reads from it: then say so, and change nothing."""
    ours = "from pg_replication_slots where slot_name = %s and database = current_database()"
    try:
        admin.execute(f"select pg_drop_replication_slot(slot_name) {ours}", [slot])
    except errors.ObjectInUse as error:
        raise SystemExit(
            f"slot {slot} is in use: stop its connector first, then run the downgrade again"
        ) from error
