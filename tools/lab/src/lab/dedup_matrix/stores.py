"""The columns of the dedup matrix: every dedup store that is here, and the controls beside them."""

from functools import partial
from typing import NamedTuple

from lab.dedup_matrix import controls
from lab.dedup_matrix.candidate import (
    Backends,
    Candidate,
    apply_retention,
    delete_rows,
    table_size,
)
from service.dedup import DedupStore, Write, load_store, stores


class Described(NamedTuple):
    """What only people know of a store whose memory is a table beside the business rows."""

    table: str
    title: str
    choose_it: str
    breaks: frozenset[str]


IN_POSTGRES = {
    "tracking": Described(
        table="tracking",
        title="tracking table (the default)",
        choose_it=(
            "unless you know a reason for another: "
            "it needs nothing from the producer, and sees conflicts"
        ),
        breaks=frozenset({"store_lost", "retention"}),
    ),
    "entity": Described(
        table="order_state",
        title="ids in the entity",
        choose_it="few messages for each entity, and its row is written anyway",
        breaks=frozenset({"store_lost", "retention", "another_value"}),
    ),
    "version": Described(
        table="order_version",
        title="highest version per order",
        choose_it=(
            "each event describes a whole state, and its producer numbers the events of an entity"
        ),
        breaks=frozenset({"store_lost", "retention", "another_value", "older_after_newer"}),
    ),
    "watermark": Described(
        table="watermark",
        title="high-water mark per partition",
        choose_it=(
            "one producer numbers each partition, and nothing may grow with the number of messages"
        ),
        breaks=frozenset(
            {"store_lost", "another_value", "disorder", "more_partitions", "two_producers"}
        ),
    ),
}


def in_postgres(name: str, described: Described) -> Candidate:
    """Return a store of the service that keeps its memory beside the business rows."""
    retention = getattr(load_store(name), "FORGET", None)
    table = described.table

    def make(_backends: Backends, _subscriber: str, _worker: str, write: Write) -> DedupStore:
        store: DedupStore = load_store(name).make_store(write)
        return store

    return Candidate(
        title=described.title,
        choose_it=described.choose_it,
        make=make,
        lose=partial(delete_rows, table),
        forget=partial(apply_retention, retention) if retention else keep,
        size=partial(table_size, table),
        breaks=described.breaks,
    )


def keep(_backends: Backends, _subscriber: str) -> None:
    """Keep everything: there is nothing, or no retention."""


def no_store(_backends: Backends, _subscriber: str, _worker: str, write: Write) -> DedupStore:
    """Make the control that remembers nothing."""
    return controls.no_memory(write)


def separate(backends: Backends, subscriber: str, _worker: str, write: Write) -> DedupStore:
    """Make the control that commits its tracking row before the effect."""
    return controls.SeparateTransaction(write, backends.engine, subscriber)


CONTROLS = {
    "nothing": Candidate(
        title="no dedup",
        choose_it="when a second effect harms nobody",
        make=no_store,
        lose=keep,
        forget=keep,
        size=lambda _backends: 0,
        breaks=controls.NEED_MEMORY,
        folds=False,
    ),
    "separate_transaction": Candidate(
        title="tracking table, in a transaction of its own",
        choose_it="never: it loses what a crash interrupts",
        make=separate,
        lose=partial(delete_rows, controls.TABLE),
        forget=partial(delete_rows, controls.TABLE),
        size=partial(table_size, controls.TABLE),
        breaks=frozenset({"crash_before_effect", "store_lost", "retention", "another_value"}),
    ),
}


def find_candidates() -> dict[str, Candidate]:
    """Return the controls and every store that is here."""
    here = stores()
    found = dict(CONTROLS)
    for name, described in IN_POSTGRES.items():
        if name in here:
            found[name] = in_postgres(name, described)
    if "dynamodb" in here:
        from lab.dedup_matrix.dynamodb_stores import ON_DYNAMODB  # noqa: PLC0415 - it may be deleted

        found |= ON_DYNAMODB
    return found


STORES = find_candidates()
