"""What stands beside a connector and decides what becomes of it: tables, publications, worker, topics."""

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
    """One table, under its name with schema."""

    name: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    limits: Mapping[str, int] = field(
        default_factory=dict
    )  # column -> the bytes that a CHECK allows
    updatable: bool = True  # false: it has no replica identity, so that a published UPDATE fails


@dataclass(frozen=True)
class Publication:
    """What is published: None for every table."""

    tables: frozenset[str] | None
    operations: frozenset[str] = frozenset({"insert", "update", "delete", "truncate"})


@dataclass(frozen=True)
class Surroundings:
    """What could be seen; what is not here was not found, and is not judged."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    publications: Mapping[str, Publication] = field(default_factory=dict)
    worker: Block | None = None
    topics: Mapping[str, int] = field(default_factory=dict)  # topic -> its max.message.bytes
    server_version: int | None = None  # of PostgreSQL, the major one
    standbys: bool = False  # a standby was seen


def qualified(name: str) -> str:
    """A table's name with its schema, without quotes, as Debezium and the catalog write it."""
    plain = name.replace('"', "").strip()
    return plain if "." in plain else f"public.{plain}"
