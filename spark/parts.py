"""What an extra adds to the Spark jobs, and the parts of the extras that are installed here."""

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

from contract import extras
from spark.hops import Hop


class Part(NamedTuple):
    """What an extra adds to landing and reconciliation."""

    input_topics: tuple[str, ...] = ()  # to land; written by other systems
    event_topics: tuple[str, ...] = ()  # to land; written by Connect from the outbox
    tables: Mapping[str, str] = {}  # frame -> PostgreSQL over the service's database
    frames: Mapping[str, str] = {}  # frame -> Spark SQL over other frames
    hops: tuple[Hop, ...] = ()


def load_parts() -> list[Part]:
    """Return the part of each extra whose manifest names a module with a function part()."""
    parts = []
    sections = extras.manifests("spark")
    for section in sections.values():
        module = import_module(section["part"])
        part: Part = module.part()
        parts.append(part)
    return parts
