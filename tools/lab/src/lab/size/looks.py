"""Looks at a running stack from outside: its log, tables, topics, processes and heap."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg

from contract.names import AUDIT_DATABASE, DATABASE
from lab.environment import connect_as_admin
from ops.jars import java_program
from ops.settings import OUTBOXES, Env
from ops.stack.stack import Stack

LOG_END = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
TABLES = """
    select relname, pg_table_size(oid), pg_indexes_size(oid)
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r'
"""
# A BRIN index has a page for many of its table's; the rest of these tables are B-trees.
BTREES = """
    select indexed.relname, pg_relation_size(indexed.oid)
    from pg_class as indexed
    join pg_am on pg_am.oid = indexed.relam and amname = 'btree'
    where relnamespace = 'public'::regnamespace
"""
# What autovacuum does in a minute is not the load's, and it comes when it likes.
NO_VACUUM = ("alter system set autovacuum = off", "select pg_reload_conf()")
WALSENDERS = "select pid from pg_stat_activity where backend_type = 'walsender'"
LIVE_TOTAL = re.compile(r"^Total +\d+ +(\d+)$", re.MULTILINE)

LEAST_BYTES = 1  # of an order: a page that somebody has touched is less

Sizes = dict[str, float]  # by name


class TableSizes(NamedTuple):
    """Bytes of both databases, by database and name."""

    rows: Sizes
    indexes: Sizes
    btrees: Sizes


def stop_vacuum(env: Env) -> None:
    """Let autovacuum do nothing in the server of a throwaway stack."""
    with connect_as_admin(dict(env)) as admin:
        for statement in NO_VACUUM:
            admin.execute(statement.encode())


def checkpoint(env: Env) -> None:
    """Make a checkpoint: the next write to each page logs all of it."""
    with connect_as_admin(dict(env)) as admin:
        admin.execute("checkpoint")


def log_end(env: Env) -> int:
    """Return how many bytes were ever written to the write-ahead log."""
    with connect_as_admin(dict(env)) as admin:
        row = admin.execute(LOG_END).fetchone()
    assert row is not None  # it has one row
    return int(row[0])


def table_sizes(env: Env) -> TableSizes:
    """Return the bytes of every table and B-tree of both databases."""
    sizes = TableSizes({}, {}, {})
    for database in (DATABASE, AUDIT_DATABASE):
        with connect_as_admin(dict(env), OUTBOXES[database]) as admin:
            add_sizes(admin, database, sizes)
    return sizes


def add_sizes(admin: psycopg.Connection, database: str, sizes: TableSizes) -> None:
    """Add what is in one database."""
    for name, rows, indexes in admin.execute(TABLES):
        sizes.rows[f"{database}.{name}"] = rows
        sizes.indexes[f"{database}.{name}"] = indexes
    for name, size in admin.execute(BTREES):
        sizes.btrees[f"{database}.{name}"] = size


def topic_sizes(stack: Stack, topics: Iterator[str] | tuple[str, ...]) -> Sizes:
    """Return the bytes of each topic's records in the files of the one broker."""
    folder = stack.settings.data_dir / "kafka"
    return {topic: sum(map(size_of, folder.glob(f"{topic}-*/*.log"))) for topic in topics}


def size_of(file: Path) -> int:
    """Return the bytes of a file."""
    return file.stat().st_size


def grown(after: Mapping[str, float], before: Mapping[str, float], orders: int) -> Sizes:
    """Return by how much each has grown with one order, without what has not grown with orders."""
    sizes: Sizes = {}
    for name, size in after.items():
        of_one = (size - before.get(name, 0)) / orders
        if of_one >= LEAST_BYTES:
            sizes[name] = of_one
    return sizes


def pid_of(stack: Stack, part: str) -> int:
    """Return the process of a part."""
    identity = stack.supervisor.identity(part)
    assert identity, f"{part} does not run"
    return identity.pid


def cpu_seconds(stack: Stack, part: str) -> float:
    """Return the seconds of a core that a part has taken, with children that have ended or not."""
    process = psutil.Process(pid_of(stack, part))
    ended = process.cpu_times()
    of_ended = float(ended.children_user + ended.children_system)
    return of_ended + sum(map(seconds_of, [process, *process.children(recursive=True)]))


def walsender_seconds(env: Env) -> float:
    """Return the same of the processes that decode the log for connectors."""
    with connect_as_admin(dict(env)) as admin:
        pids = [row[0] for row in admin.execute(WALSENDERS)]
    return sum(seconds_of(psutil.Process(pid)) for pid in pids)


def seconds_of(process: psutil.Process) -> float:
    """Return the processor time of one process; one that has just ended is its parent's."""
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def live_bytes(stack: Stack) -> float:
    """Return the bytes of Connect's objects that are still needed: a full collection first."""
    pid = pid_of(stack, "connect")
    command = [java_program("jcmd"), str(pid), "GC.class_histogram"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = LIVE_TOTAL.search(done.stdout)
    assert found, f"jcmd named no total: {done.stdout[-200:]}"
    return float(found[1])
