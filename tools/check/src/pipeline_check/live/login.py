"""pg_hba, as far as we may see it: passwords are asked for, and nobody copies the server."""

from collections.abc import Iterator

import psycopg

from pipeline_check.live.database import Database
from pipeline_check.live.unseen import not_looked_at
from pipeline_check.rules.finding import Finding, Severity

HBA = "select line_number, type, database, user_name, auth_method from pg_hba_file_rules where error is null"


def logins(database: Database, reader: str) -> Iterator[Finding]:
    """No line trusts, and no line lets the connector's role replicate the whole server."""
    try:
        lines = database.session.execute(HBA).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        user = database.session.info.user
        fix = f"grant select on pg_hba_file_rules to {user}; grant execute on function pg_hba_file_rules() to {user};"
        yield not_looked_at(
            "postgres",
            "pg_hba: only a superuser may read pg_hba_file_rules unless it is granted",
            fix,
        )
        return
    for number, _kind, databases, users, method in lines:
        fix = f"in pg_hba.conf, remove line {number}, then: select pg_reload_conf();"
        if method == "trust":
            message = (
                f"line {number} of pg_hba trusts {', '.join(users)}: a broken secret goes unnoticed"
            )
            yield Finding("hba-trust", Severity.ERROR, "postgres", 0, message, fix)
        if "replication" in databases and {"all", reader} & set(users):
            message = f"line {number} of pg_hba lets {reader} copy the whole server; logical decoding does not need it"
            yield Finding("hba-replication", Severity.WARNING, "postgres", 0, message, fix)
