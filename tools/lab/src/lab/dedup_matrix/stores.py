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
        breaks=frozenset({"store_lost", "retention", "older_state"}),
    ),
    "entity": Described(
        table="order_state",
        title="ids in the entity",
        choose_it="few messages for each entity, and its row is written anyway",
        breaks=frozenset({"store_lost", "retention", "another_value", "older_state"}),
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
            {
                "store_lost",
                "another_value",
                "disorder",
                "more_partitions",
                "two_producers",
                "older_state",
            }
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
        breaks=frozenset(
            {"crash_before_effect", "store_lost", "retention", "another_value", "older_state"}
        ),
    ),
}


def wrong_versions(version: Candidate) -> dict[str, Candidate]:
    """Return two ways to keep the highest version that look as good."""
    as_text = ("lpad(sequence::text, 18, '0')", "rpad(sequence::text, 18)")
    one_for_all = ("order_id, source, n,", "order_id, '' as source, n,")
    return {
        "version_as_text": version._replace(
            title="highest version per order, compared as text",
            choose_it="never: 10 comes before 9",
            make=partial(make_version, *as_text),
            breaks=version.breaks | {"wider_number"},
        ),
        "version_one_for_all": version._replace(
            title="highest version per order, one for all publishers",
            choose_it="never, if more than one aggregate publishes events of an order",
            make=partial(make_version, *one_for_all),
            breaks=version.breaks | {"two_sources"},
        ),
    }


def make_version(
    right: str, wrong: str, _backends: Backends, _subscriber: str, _worker: str, write: Write
) -> DedupStore:
    """Make the store with a part of its statement replaced."""
    store = load_store("version").make_store(write)
    assert right in store.fresh
    store.fresh = store.fresh.replace(right, wrong)
    made: DedupStore = store
    return made


def find_candidates() -> dict[str, Candidate]:
    """Return the controls and every store that is here."""
    here = stores()
    found = dict(CONTROLS)
    for name, described in IN_POSTGRES.items():
        if name in here:
            found[name] = in_postgres(name, described)
    if "version" in here:
        found |= wrong_versions(found["version"])
    if "dynamodb" in here:
        from lab.dedup_matrix.dynamodb_stores import ON_DYNAMODB  # noqa: PLC0415 - it may be deleted

        found |= ON_DYNAMODB
    return found


STORES = find_candidates()
