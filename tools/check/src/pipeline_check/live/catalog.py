"""The catalog of a database, in the words of the rules: open to every role that may connect."""

from typing import Any

import psycopg

from pipeline_check.connector.ddl import limits
from pipeline_check.connector.surroundings import Column, Publication, Surroundings, Table
from pipeline_check.live.database import Database

TABLES = """
    select format('%s.%s', n.nspname, c.relname),
           (select json_agg(json_build_array(attname, format_type(atttypid, null), not attnotnull) order by attnum)
            from pg_attribute a where a.attrelid = c.oid and attnum > 0 and not attisdropped),
           (select coalesce(string_agg(pg_get_constraintdef(k.oid), ' '), '')
            from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'),
           case c.relreplident when 'f' then true when 'n' then false else exists (
               select from pg_index i where i.indrelid = c.oid
               and (c.relreplident = 'd' and i.indisprimary or c.relreplident = 'i' and i.indisreplident)) end
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
"""
PUBLICATIONS = """
    select pubname, puballtables,
           array_remove(array[case when pubinsert then 'insert' end, case when pubupdate then 'update' end,
                              case when pubdelete then 'delete' end, case when pubtruncate then 'truncate' end], null),
           (select coalesce(json_agg(format('%s.%s', schemaname, tablename)), '[]')
            from pg_publication_tables t where t.pubname = p.pubname)
    from pg_publication p
"""
# As JSON, because each version of PostgreSQL has more columns than the one before.
SLOTS = """
    select to_jsonb(s) || jsonb_build_object('kept', case when pg_is_in_recovery() then null
                                                     else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end)
    from pg_replication_slots s order by slot_name
"""
SETTINGS = "select name, setting from pg_settings"


def read(connection: "psycopg.Connection[Any]", writer: str, name: str) -> Database:
    """Everything that the rules look at."""
    tables = {row[0]: make_table(*row) for row in connection.execute(TABLES)}
    publications = {
        row[0]: Publication(None if row[1] else frozenset(row[3]), frozenset(row[2]))
        for row in connection.execute(PUBLICATIONS)
    }
    slots = [dict(row[0]) for row in connection.execute(SLOTS)]
    settings = {row[0]: str(row[1]) for row in connection.execute(SETTINGS)}
    around = Surroundings(
        tables,
        publications,
        server_version=connection.info.server_version // 10_000,
        standbys=any(slot["slot_type"] == "physical" for slot in slots),
    )
    return Database(name, writer, connection, around, settings, slots)


def make_table(name: str, columns: Any, checks: str, updatable: bool) -> Table:
    """A table in the words of the rules."""
    found = {column: Column(kind, nullable) for column, kind, nullable in columns or []}
    return Table(name, found, limits(checks.lower(), found), updatable)
