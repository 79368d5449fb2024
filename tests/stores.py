"""Every dedup store that has a file, and the table of each."""

import re
from importlib import import_module

from service.dedup import load_store, stores

STORES = sorted(stores())
SQL = [
    name for name in STORES if hasattr(load_store(name), "FRESH")
]  # their claim is part of the business statement
RETAINED = [name for name in SQL if hasattr(load_store(name), "FORGET")]
OWN_TABLES = [name for name in SQL if name != "tracking"]
DROPPING = [
    name for name in ("version", "watermark") if name in STORES
]  # they drop what comes out of sequence


def table_of(name: str) -> str:
    """Return the table in which a store keeps what it knows."""
    store = load_store(name)
    claim = store.FRESH if hasattr(store, "FRESH") else store.FENCED
    [table] = set(re.findall(r"insert into (\w+)", claim))
    return str(table)


def forget_of(name: str) -> str:
    """Return the SQL that deletes what a store keeps; of tracking, that of a function."""
    if name == "tracking":
        revision = import_module("migrations.fulfillment.0022_forgotten_offsets")
        return str(revision.FORGET)
    return str(load_store(name).FORGET)
