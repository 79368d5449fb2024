"""The columns of the truth table: every dedup store, and the controls that they are held against."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import NamedTuple

import psycopg
from sqlalchemy import Engine

from ops.truth import controls, effect
from service.dedup import DedupStore, Write, choose


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
    make: Callable[[Place, str, str, Write], DedupStore]  # for a subscriber and a worker
    lose: Callable[[Place, str], None]  # all that it keeps for a subscriber is gone
    forget: Callable[[Place, str], None]  # all that it keeps is older than the retention
    size: Callable[[Place], int]  # in bytes, indexes included
    folds: bool = True  # repeats in one batch, before the store sees them


def in_postgres(name: str, table: str, title: str, choose_it: str) -> Store:
    """A store of the service that lives beside the business rows."""
    forgets = getattr(import_module(f"service.dedup.{name}"), "FORGET", None)
    return Store(
        title,
        choose_it,
        make=lambda _place, _subscriber, _worker, write: choose(name).store(write),
        lose=partial(empty, table),
        forget=partial(forget, forgets) if forgets else lambda _place, _subscriber: None,
        size=partial(table_size, table),
    )


def empty(table: str, place: Place, subscriber: str) -> None:
    """Its rows are gone, as after a restore from yesterday."""
    place.admin.execute(f"delete from {table} where subscriber = %s".encode(), [subscriber])  # noqa: S608 - names of ours


def forget(sql: str, place: Place, subscriber: str) -> None:
    """The store's own retention, an hour from now."""
    given = sql.replace(":subscriber", "%s").replace(":before", "now() + interval '1 hour'").replace(":limit", "1000")
    place.admin.execute(given.encode(), [subscriber])


def table_size(table: str, place: Place) -> int:
    """All that the table takes on the disk."""
    [size] = place.admin.execute("select pg_total_relation_size(%s)", [table]).fetchone() or [0]
    return int(size)


def apart(place: Place, subscriber: str, _worker: str, write: Write) -> DedupStore:
    """The control that commits its tracking row before the effect."""
    return controls.Apart(write, place.engine, subscriber)


STORES = {
    "nothing": Store(
        "no dedup",
        "when a second effect harms nobody",
        make=lambda _place, _subscriber, _worker, write: controls.nothing(write),
        lose=lambda _place, _subscriber: None,
        forget=lambda _place, _subscriber: None,
        size=lambda _place: 0,
        folds=False,
    ),
    "apart": Store(
        "tracking table, in a transaction of its own",
        "never: it loses what a crash interrupts",
        make=apart,
        lose=partial(empty, "truth.seen"),
        forget=partial(empty, "truth.seen"),
        size=partial(table_size, "truth.seen"),
    ),
    "tracking": in_postgres(
        "tracking",
        "tracking",
        "tracking table (the default)",
        "unless you know a reason for another: it needs nothing from the producer, and sees conflicts",
    ),
    "entity": in_postgres(
        "entity", "order_state", "ids in the entity", "few messages for each entity, and its row is written anyway"
    ),
    "version": in_postgres(
        "version",
        "order_version",
        "highest version per order",
        "each event says how things stand, and its producer numbers the events of an entity",
    ),
    "watermark": in_postgres(
        "watermark",
        "watermark",
        "high-water mark per partition",
        "one producer numbers each partition, and nothing may grow with the number of messages",
    ),
}


def prepare(place: Place) -> None:
    """Every table that a store or a control needs."""
    place.admin.execute("set role owner")
    for module in (
        effect,
        controls,
        *(import_module(f"service.dedup.{name}") for name in STORES if name in IN_SERVICE),
    ):
        if tables := getattr(module, "TABLES", ""):
            place.admin.execute(tables)
    place.admin.execute("reset role")


IN_SERVICE = ("tracking", "entity", "version", "watermark")
