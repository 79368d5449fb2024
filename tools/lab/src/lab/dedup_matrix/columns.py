"""The columns of the truth table: every dedup store that is there, and the controls that they are held against."""

from functools import partial

from lab.dedup_matrix import controls, effect
from lab.dedup_matrix.laws import BREAKS
from lab.dedup_matrix.stores import Place, Store, empty, forget, table_size
from service.dedup import DedupStore, Write, load_store, stores


def is_there(name: str) -> bool:
    """Whether nobody has deleted it."""
    return name in stores()


def in_postgres(name: str, table: str, title: str, choose_it: str) -> Store:
    """A store of the service that lives beside the business rows."""
    forgets = getattr(load_store(name), "FORGET", None)
    return Store(
        title,
        choose_it,
        BREAKS[name],
        make=lambda _place, _subscriber, _worker, write: load_store(name).make_store(write),
        lose=partial(empty, table),
        forget=partial(forget, forgets) if forgets else lambda _place, _subscriber: None,
        size=partial(table_size, table),
    )


def apart(place: Place, subscriber: str, _worker: str, write: Write) -> DedupStore:
    """The control that commits its tracking row before the effect."""
    return controls.Apart(write, place.engine, subscriber)


CONTROLS = {
    "nothing": Store(
        "no dedup",
        "when a second effect harms nobody",
        BREAKS["nothing"],
        make=lambda _place, _subscriber, _worker, write: controls.nothing(write),
        lose=lambda _place, _subscriber: None,
        forget=lambda _place, _subscriber: None,
        size=lambda _place: 0,
        folds=False,
    ),
    "apart": Store(
        "tracking table, in a transaction of its own",
        "never: it loses what a crash interrupts",
        BREAKS["apart"],
        make=apart,
        lose=partial(empty, "truth.seen"),
        forget=partial(empty, "truth.seen"),
        size=partial(table_size, "truth.seen"),
    ),
}
# The table that holds each one's memory, its title, and when to choose it.
IN_POSTGRES = {
    "tracking": (
        "tracking",
        "tracking table (the default)",
        "unless you know a reason for another: it needs nothing from the producer, and sees conflicts",
    ),
    "entity": (
        "order_state",
        "ids in the entity",
        "few messages for each entity, and its row is written anyway",
    ),
    "version": (
        "order_version",
        "highest version per order",
        "each event says how things stand, and its producer numbers the events of an entity",
    ),
    "watermark": (
        "watermark",
        "high-water mark per partition",
        "one producer numbers each partition, and nothing may grow with the number of messages",
    ),
}
STORES = CONTROLS | {
    name: in_postgres(name, *said) for name, said in IN_POSTGRES.items() if is_there(name)
}
if is_there("dynamodb"):
    from lab.dedup_matrix.on_dynamodb import ON_DYNAMODB

    STORES |= ON_DYNAMODB


def prepare(place: Place) -> None:
    """Every table that a store or a control needs."""
    there = [load_store(name) for name in (*IN_POSTGRES, "dynamodb") if is_there(name)]
    place.admin.execute("set role owner")
    for module in (effect, controls, *there):
        if tables := getattr(module, "TABLES", ""):
            place.admin.execute(tables)
    place.admin.execute("reset role")
