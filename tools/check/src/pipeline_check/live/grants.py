"""Privileges: what the migrations grant and the connector needs is there, and the writer cannot rewrite the outbox."""

from collections.abc import Iterable, Iterator

from pipeline_check.connector.granted import Grant
from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import qualified
from pipeline_check.live.database import Database
from pipeline_check.rules.finding import Finding, Severity

ON_TABLES = {"select", "insert", "update", "delete", "truncate", "references", "trigger"}
STREAMING = {"no_data", "never"}  # snapshot modes that read no table


def grants(database: Database, intended: Iterable[Grant]) -> Iterator[Finding]:
    """Every intended privilege is really held, and the way to it: the database, and the schema."""
    here = [grant for grant in intended if qualified(grant.object) in database.around.tables]
    ways = [Grant("connect", "", "", grant.role) for grant in here]
    ways += [
        Grant("usage", "", qualified(grant.object).split(".")[0], grant.role) for grant in here
    ]
    for grant in dict.fromkeys([*ways, *here]):
        if lacks(database, grant):
            on = f"database {database.name}" if grant.privilege == "connect" else grant.object
            on = f"schema {grant.object}" if grant.privilege == "usage" else on
            column = f" ({grant.column})" if grant.column else ""
            message = f"{grant.role} may not {grant.privilege}{column} on {on}"
            fix = f"grant {grant.privilege}{column} on {on} to {grant.role};"
            yield Finding("grant-missing", Severity.ERROR, database.place, 0, message, fix)


def lacks(database: Database, grant: Grant) -> bool:
    """Whether role and object are there, and the privilege is not."""
    if not database.ask("select to_regrole(quote_ident(%s)) is not null", grant.role):
        return False  # a role that this server never had is told by role()
    if grant.privilege == "connect":
        return not database.ask(
            "select has_database_privilege(%s, current_database(), 'connect')", grant.role
        )
    if grant.privilege == "usage":
        return not database.ask(
            "select has_schema_privilege(%s, %s, 'usage')", grant.role, grant.object
        )
    table = qualified(grant.object)
    if grant.privilege not in ON_TABLES:
        return False
    if grant.column:
        query = "select has_column_privilege(%s, %s, %s, %s)"
        return not database.ask(query, grant.role, table, grant.column, grant.privilege)
    return not database.ask(
        "select has_table_privilege(%s, %s, %s)", grant.role, table, grant.privilege
    )


def needed(outbox: Outbox, database: Database) -> Iterator[Grant]:
    """What the connector's role and the outbox's writer need for their work."""
    reader = outbox.value("database.user") or ""
    operation, heartbeat = outbox.heartbeat
    if heartbeat:
        yield Grant(operation, "", heartbeat, reader)
    for table in outbox.included:
        yield Grant("insert", "", table, database.writer)
        if outbox.value("snapshot.mode", "initial") not in STREAMING:
            yield Grant("select", "", table, reader)


def role(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """The connector's role may log in and read the log, and no more than that."""
    name = outbox.value("database.user") or ""
    query = "select array[rolcanlogin, rolreplication, rolsuper] from pg_roles where rolname = %s"
    can_login, replication, superuser = database.ask(query, name) or (False, False, False)
    if not (can_login and replication):
        message = (
            f"{name} is no role that may log in and replicate: the connector cannot read the log"
        )
        there = database.ask("select to_regrole(quote_ident(%s)) is not null", name)
        fix = f"{'alter' if there else 'create'} role {name} login replication;"
        yield Finding("role-cannot-replicate", Severity.ERROR, database.place, 0, message, fix)
    if superuser:
        message = f"{name} is a superuser: whoever reads Connect's secrets owns the server"
        fix = f"alter role {name} nosuperuser;"
        yield Finding("role-superuser", Severity.WARNING, database.place, 0, message, fix)


def rewriting(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """Who writes the outbox can neither change nor remove what is written."""
    for table in outbox.included:
        held = [p for p in ("update", "delete", "truncate") if may(database, table, p)]
        if held:
            message = f"{database.writer} may {', '.join(held)} on {table}: an event could be gone before it is read"
            fix = f"revoke {', '.join(held)} on {table} from {database.writer};"
            yield Finding("outbox-rewritable", Severity.WARNING, database.place, 0, message, fix)


def may(database: Database, table: str, privilege: str) -> bool:
    """Whether the writer holds this privilege."""
    known = table in database.around.tables
    return known and bool(
        database.ask("select has_table_privilege(%s, %s, %s)", database.writer, table, privilege)
    )
