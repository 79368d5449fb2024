"""Privileges: everything that is needed is granted, and the writer cannot rewrite the outbox."""

from collections.abc import Iterable, Iterator

from pipeline_check.connector.migrations import Grant
from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import qualified
from pipeline_check.live.postgres import Database
from pipeline_check.rules.finding import Finding, Severity

ON_TABLES = {"select", "insert", "update", "delete", "truncate", "references", "trigger"}
REWRITING = ("update", "delete", "truncate")
WITHOUT_SNAPSHOT = {"no_data", "never"}  # snapshot modes that read no table
ROLE_EXISTS = "select to_regrole(quote_ident(%s)) is not null"
ROLE = """
    select array[rolcanlogin, rolreplication, rolsuper]
    from pg_roles
    where rolname = %s
"""
ON_DATABASE = "select has_database_privilege(%s, current_database(), 'connect')"
ON_SCHEMA = "select has_schema_privilege(%s, %s, 'usage')"
ON_TABLE = "select has_table_privilege(%s, %s, %s)"
ON_COLUMN = "select has_column_privilege(%s, %s, %s, %s)"


def check_grants(database: Database, intended: Iterable[Grant]) -> Iterator[Finding]:
    """Check that every intended privilege is held, and the way to it: database and schema."""
    here = [grant for grant in intended if qualified(grant.object) in database.around.tables]
    wanted = [Grant("connect", "", "", grant.role) for grant in here]
    for grant in here:
        schema = qualified(grant.object).partition(".")[0]
        wanted.append(Grant("usage", "", schema, grant.role))
    wanted += here
    for grant in dict.fromkeys(wanted):
        if is_missing(database, grant):
            what = describe(database, grant)
            message = f"{grant.role} may not {what}"
            fix = f"grant {what} to {grant.role};"
            yield Finding("grant-missing", Severity.ERROR, database.place, 0, message, fix)


def describe(database: Database, grant: Grant) -> str:
    """Return a privilege as SQL writes it: select (id) on outbox."""
    column = f" ({grant.column})" if grant.column else ""
    on = grant.object
    if grant.privilege == "connect":
        on = f"database {database.name}"
    elif grant.privilege == "usage":
        on = f"schema {grant.object}"
    return f"{grant.privilege}{column} on {on}"


def is_missing(database: Database, grant: Grant) -> bool:
    """Return whether role and object exist, and the privilege is not held.

    A role that the server does not have is reported by `check_role`.
    """
    role = grant.role
    table = qualified(grant.object)
    if not database.ask(ROLE_EXISTS, role):
        return False
    if grant.privilege == "connect":
        return not database.ask(ON_DATABASE, role)
    if grant.privilege == "usage":
        return not database.ask(ON_SCHEMA, role, grant.object)
    if grant.privilege not in ON_TABLES:
        return False
    if grant.column:
        return not database.ask(ON_COLUMN, role, table, grant.column, grant.privilege)
    return not database.ask(ON_TABLE, role, table, grant.privilege)


def needed_grants(outbox: Outbox, database: Database) -> Iterator[Grant]:
    """Yield what the connector's role and the outbox's writer need for their work."""
    reader = outbox.value("database.user") or ""
    operation, heartbeat = outbox.heartbeat
    takes_snapshot = outbox.value("snapshot.mode", "initial") not in WITHOUT_SNAPSHOT
    if heartbeat:
        yield Grant(operation, "", heartbeat, reader)
    for table in outbox.included:
        yield Grant("insert", "", table, database.writer)
        if takes_snapshot:
            yield Grant("select", "", table, reader)


def check_role(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """Check that the connector's role may log in and read the log, and no more than that."""
    name = outbox.value("database.user") or ""
    place = database.place
    can_login, can_replicate, is_superuser = database.ask(ROLE, name) or (False, False, False)
    if not can_login or not can_replicate:
        message = (
            f"{name} is no role that may log in and replicate: the connector cannot read the log"
        )
        verb = "alter" if database.ask(ROLE_EXISTS, name) else "create"
        fix = f"{verb} role {name} login replication;"
        yield Finding("role-cannot-replicate", Severity.ERROR, place, 0, message, fix)
    if is_superuser:
        message = f"{name} is a superuser: everyone who reads Connect's secrets owns the server"
        fix = f"alter role {name} nosuperuser;"
        yield Finding("role-superuser", Severity.WARNING, place, 0, message, fix)


def check_rewriting(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """Check that the role that writes the outbox can neither change nor remove what is written."""
    writer = database.writer
    for table in outbox.included:
        if table not in database.around.tables:
            continue
        held = [each for each in REWRITING if database.ask(ON_TABLE, writer, table, each)]
        if held:
            privileges = ", ".join(held)
            message = (
                f"{writer} may {privileges} on {table}: an event could be gone before it is read"
            )
            fix = f"revoke {privileges} on {table} from {writer};"
            yield Finding("outbox-rewritable", Severity.WARNING, database.place, 0, message, fix)
