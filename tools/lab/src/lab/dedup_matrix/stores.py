"""What the truth table wants of a store: made anew for each worker, and robbed of its memory."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import psycopg
from sqlalchemy import Engine

from service.dedup import DedupStore, Write


class Place(NamedTuple):
    """Where the stores are."""

    engine: Engine  # as the service has it
    admin: psycopg.Connection  # may empty what a store must never lose
    bootstrap_servers: str
    requests: Counter[str]  # how many each server was sent


class Store(NamedTuple):
    """A store as the table wants it: made anew for each worker, and robbed of its memory."""

    title: str
    choose_it: str  # one line: when
    breaks: frozenset[str]  # the laws of anomalies.py that it breaks; it keeps every other one
    make: Callable[[Place, str, str, Write], DedupStore]  # for a subscriber and a worker
    lose: Callable[[Place, str], None]  # all that it keeps for a subscriber is gone
    forget: Callable[[Place, str], None]  # all that it keeps is older than the retention
    size: Callable[[Place], int]  # in bytes, indexes included
    folds: bool = True  # repeats in one batch, before the store sees them
    slow: bool = False  # asks another server for each message
    downstream: bool = False  # effects are counted after whoever reads them has removed doubles by their derived id


def empty(table: str, place: Place, subscriber: str) -> None:
    """Its rows are gone, as after a restore from yesterday."""
    place.admin.execute(f"delete from {table} where subscriber = %s".encode(), [subscriber])  # noqa: S608 - names of ours


def forget(sql: str, place: Place, subscriber: str) -> None:
    """The store's own retention, an hour from now."""
    given = (
        sql.replace(":subscriber", "%s")
        .replace(":before", "now() + interval '1 hour'")
        .replace(":limit", "1000")
    )
    place.admin.execute(given.encode(), [subscriber])


def table_size(table: str, place: Place) -> int:
    """All that the table takes on the disk."""
    [size] = place.admin.execute("select pg_total_relation_size(%s)", [table]).fetchone() or [0]
    return int(size)
