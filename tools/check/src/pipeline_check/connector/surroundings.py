"""What is around a connector and decides what it does: tables, publications, worker, topics."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline_check.reading.block import Block


@dataclass(frozen=True)
class Column:
    """One column: its type in lower case, and whether it may be NULL."""

    type: str
    nullable: bool


@dataclass(frozen=True)
class Table:
    """One table, under its name with the schema."""

    name: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)  # column -> bytes that a CHECK allows
    updatable: bool = True  # false: it has no replica identity, so a published UPDATE fails


@dataclass(frozen=True)
class Publication:
    """What is published; no tables means every table."""

    tables: frozenset[str] | None
    operations: frozenset[str] = frozenset({"insert", "update", "delete", "truncate"})


@dataclass(frozen=True)
class Surroundings:
    """What could be seen; what is not here was not found, and is not judged."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    publications: Mapping[str, Publication] = field(default_factory=dict)
    worker: Block | None = None
    topics: Mapping[str, int] = field(default_factory=dict)  # topic -> its max.message.bytes
    server_version: int | None = None  # the major version of PostgreSQL
    standbys: bool = False  # a standby was seen


def qualified(name: str) -> str:
    """Return a table's name with its schema and without quotes, as Debezium writes it."""
    plain = name.replace('"', "").strip()
    return plain if "." in plain else f"public.{plain}"


def split_names(text: str | None) -> list[str]:
    """Return the names of a list as Connect writes it."""
    names = [name.strip() for name in (text or "").split(",")]
    return [name for name in names if name]


def java_match(pattern: str, text: str) -> bool:
    """Return whether a Java pattern matches all of a text; a pattern unknown to Python does not."""
    try:
        return re.fullmatch(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return False


def parse_number(text: str | None, default: int = 0) -> int:
    """Return a number, or the default where there is none to be read."""
    if text and text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    return default
