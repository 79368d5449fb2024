"""Roles and databases: shared by the whole server, so made outside the migrations, as often as you like."""

from pathlib import Path

from psycopg import sql
from sqlalchemy import Connection, text

# owner owns every table and never logs in; cdc may read the log and nothing else; reconciler only reads.
ROLES = {"owner": "nologin", "app": "login", "audit": "login", "cdc": "login replication", "reconciler": "login"}


def make_roles(admin: Connection, secrets_dir: Path) -> None:
    """Make every role, and give those that log in the password of their secret file."""
    known = set(admin.scalars(text("select rolname from pg_roles")))
    for role, attributes in ROLES.items():
        verb = "alter" if role in known else "create"
        admin.exec_driver_sql(f"{verb} role {role} {attributes}")
        if not attributes.startswith("nologin"):
            set_password(admin, role, (secrets_dir / f"{role}_password").read_text().strip())


def set_password(admin: Connection, role: str, password: str) -> None:
    """Send the verifier only: the password itself then stands in no statement and no server log."""
    driver = admin.connection.driver_connection
    assert driver is not None  # noqa: S101 - a live connection has its driver's connection
    verifier = driver.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    statement = sql.SQL("alter role {} password {}").format(sql.Identifier(role), verifier.decode())
    admin.exec_driver_sql(statement.as_string())


def make_database(admin: Connection, name: str) -> None:
    """Make a database that belongs to owner and that nobody enters without a grant."""
    found = admin.scalar(text("select true from pg_database where datname = :name"), {"name": name})
    quoted = sql.Identifier(name).as_string()
    if not found:
        admin.exec_driver_sql(f"create database {quoted} owner owner")
    admin.exec_driver_sql(f"revoke all on database {quoted} from public")
