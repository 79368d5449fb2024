"""A candidate: a dedup store or a control as the matrix tries it, made again for each worker."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import psycopg
from sqlalchemy import Engine

from service.dedup import DedupStore, Write


class Backends(NamedTuple):
    """The servers that the stores run on."""

    engine: Engine  # as the service has it
    admin: psycopg.Connection  # may delete what a store must never lose
    bootstrap_servers: str
    requests: Counter[str]  # how many each server was sent


class Candidate(NamedTuple):
    """One column of the matrix."""

    title: str
    choose_it: str  # one line: when
    make: Callable[[Backends, str, str, Write], DedupStore]  # for a subscriber and a worker
    lose: Callable[[Backends, str], None]  # deletes all that it keeps for a subscriber
    forget: Callable[[Backends, str], None]  # makes all that it keeps older than the retention
    size: Callable[[Backends], int]  # in bytes, indexes included
    breaks: frozenset[str] = frozenset()  # the anomalies that it does not survive
    folds: bool = True  # repeats in one batch, before the store sees them
    slow: bool = False  # asks another server for each message
    downstream: bool = False  # effects count after a reader has removed doubles by their derived id


def delete_rows(table: str, backends: Backends, subscriber: str) -> None:
    """Delete the subscriber's rows, as after a restore from yesterday."""
    statement = f"delete from {table} where subscriber = %s"  # noqa: S608 - names of ours
    backends.admin.execute(statement.encode(), [subscriber])


def apply_retention(sql: str, backends: Backends, subscriber: str) -> None:
    """Run the store's own retention as if it were an hour from now."""
    values = {
        ":subscriber": "%s",
        ":before": "now() + interval '1 hour'",
        ":limit": "1000",
    }
    for name, value in values.items():
        sql = sql.replace(name, value)
    backends.admin.execute(sql.encode(), [subscriber])


def table_size(table: str, backends: Backends) -> int:
    """Return what the table and its indexes take on the disk."""
    [size] = backends.admin.execute("select pg_total_relation_size(%s)", [table]).fetchone() or [0]
    return int(size)
