"""One database: the way into it, and its catalog in the words of the rules."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from pipeline_check.connector.migrations import find_limits
from pipeline_check.connector.surroundings import Column, Publication, Surroundings, Table

READ_ONLY: dict[str, Any] = {
    "connect_timeout": 5,
    "options": "-c default_transaction_read_only=on -c statement_timeout=10000",
}
TABLES = """
    select
        format('%s.%s', n.nspname, c.relname),
        (
            select json_agg(
                json_build_array(attname, format_type(atttypid, null), not attnotnull)
                order by attnum
            )
            from pg_attribute a
            where a.attrelid = c.oid and attnum > 0 and not attisdropped
        ),
        (
            select coalesce(string_agg(pg_get_constraintdef(k.oid), ' '), '')
            from pg_constraint k
            where k.conrelid = c.oid and k.contype = 'c'
        ),
        case c.relreplident
            when 'f' then true
            when 'n' then false
            else exists (
                select from pg_index i
                where i.indrelid = c.oid
                and (
                    c.relreplident = 'd' and i.indisprimary
                    or c.relreplident = 'i' and i.indisreplident
                )
            )
        end
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
"""
PUBLICATIONS = """
    select
        pubname,
        puballtables,
        array_remove(
            array[
                case when pubinsert then 'insert' end,
                case when pubupdate then 'update' end,
                case when pubdelete then 'delete' end,
                case when pubtruncate then 'truncate' end
            ],
            null
        ),
        (
            select coalesce(json_agg(format('%s.%s', schemaname, tablename)), '[]')
            from pg_publication_tables t
            where t.pubname = p.pubname
        )
    from pg_publication p
"""
# As JSON, because each version of PostgreSQL has more columns than the one before.
SLOTS = """
    select to_jsonb(s) || jsonb_build_object(
        'kept',
        case when pg_is_in_recovery()
            then null
            else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)
        end
    )
    from pg_replication_slots s
    order by slot_name
"""
SETTINGS = "select name, setting from pg_settings"


@dataclass(frozen=True)
class Database:
    """What was asked of one database, and a session to ask for more."""

    name: str
    writer: str  # the role that writes the outbox: the one in the URL
    session: "psycopg.Connection[Any]"
    around: Surroundings
    settings: Mapping[str, str]
    slots: list[dict[str, Any]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Return the name that findings give it."""
        return f"postgres/{self.name}"

    def ask(self, query: str, *values: Any) -> Any:
        """Return the one value that a query gives."""
        row = self.session.execute(query.encode(), values).fetchone()
        return row[0] if row else None


@contextmanager
def open_database(environment: Mapping[str, str], setting: str) -> Iterator[Database]:
    """Open the database of one URL and read its catalog.

    It is asked by `reconciler` if that role's password is at hand, else by the URL's own role. The
    session can only read, and what it reads is open to every role that may connect.
    """
    url = re.sub(r"^\w+(\+\w+)?://", "postgresql://", environment[setting])
    writer = urlsplit(url).username or ""
    with open_session(environment, setting, url, writer) as session:
        yield read_catalog(session, writer)


@contextmanager
def open_session(
    environment: Mapping[str, str], setting: str, url: str, writer: str
) -> Iterator["psycopg.Connection[Any]"]:
    """Connect as the first of the two roles that is let in."""
    password_files = {
        "reconciler": environment.get("RECONCILER_PASSWORD_FILE"),
        writer: environment.get(setting.replace("_URL", "_PASSWORD_FILE")),
    }
    refused: psycopg.Error | None = None
    for role, file in password_files.items():
        password = read_password(file)
        if role != writer and not password:
            continue
        try:
            session = psycopg.connect(
                url, user=role, password=password, autocommit=True, **READ_ONLY
            )
        except psycopg.OperationalError as error:
            refused = error
            continue
        with session:
            yield session
        return
    raise refused or psycopg.OperationalError("no role to ask with")


def read_password(file: str | None) -> str | None:
    """Return the password in a file, if there is one."""
    if not file or not Path(file).exists():
        return None
    return Path(file).read_text(encoding="utf-8").strip()


def read_catalog(session: "psycopg.Connection[Any]", writer: str) -> Database:
    """Return everything that the rules look at."""
    tables = {}
    for name, columns, checks, updatable in session.execute(TABLES):
        tables[name] = make_table(name, columns or [], checks, updatable=updatable)
    publications = {}
    for name, is_for_all, operations, names in session.execute(PUBLICATIONS):
        published = None if is_for_all else frozenset(names)
        publications[name] = Publication(published, frozenset(operations))
    slots = [dict(row[0]) for row in session.execute(SLOTS)]
    settings = {name: str(value) for name, value in session.execute(SETTINGS)}
    around = Surroundings(
        tables,
        publications,
        server_version=session.info.server_version // 10_000,
        standbys=any(slot["slot_type"] == "physical" for slot in slots),
    )
    return Database(session.info.dbname, writer, session, around, settings, slots)


def make_table(name: str, columns: Any, checks: str, *, updatable: bool) -> Table:
    """Return a table in the words of the rules."""
    found = {column: Column(kind, nullable) for column, kind, nullable in columns}
    return Table(name, found, find_limits(checks.lower(), found), updatable)
