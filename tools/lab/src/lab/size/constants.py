"""What one order costs in each part: measured by `pipeline size --measure`, kept in a TOML file.

The description of a field says how it was measured; it becomes the comment above its value.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.stack.supervisor import StackError

FILE = Path(__file__).with_name("constants.toml")
HEAD = "# Written by `pipeline size --measure`; every value is of the machine that is named here."


class Section(BaseModel):
    """One table of the file: nothing may be missing, and nothing else may stand there."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class About(Section):
    """What the numbers belong to."""

    date: str = Field(description="When it was measured.")
    machine: str = Field(description="Where.")
    orders: int = Field(gt=0, description="How many orders of three lines, with random ids.")


class Worker(Section):
    """One service process."""

    fixed_seconds: float = Field(
        ge=0,
        description="A batch without its orders: lone orders that came now and then, and batches"
        " of 500, on a straight line.",
    )
    each_seconds: float = Field(
        gt=0, description="One order more in a batch: of write, POST, mark and commit together."
    )
    write_fixed_seconds: float = Field(
        ge=0, description="The same of the write alone: after it, Debezium sees the events."
    )
    write_each_seconds: float = Field(gt=0, description="The same for one order more.")


class Connect(Section):
    """One connector's task, and the heap of its worker."""

    fixed_seconds: float = Field(
        ge=0,
        description="A lone event from its commit to its reader, less half of poll.interval.ms:"
        " the median of orders that were handled one at a time.",
    )
    each_seconds: float = Field(
        gt=0, description="One event more: a backlog in both outboxes, published at once."
    )
    heap_idle_mib: float = Field(gt=0, description="Live objects with two connectors at rest.")
    queued_bytes: float = Field(
        gt=0,
        description="Live objects of one event that waits: both connectors read a backlog while the"
        " broker is frozen.",
    )


class Log(Section):
    """PostgreSQL's write-ahead log, of both databases."""

    order_bytes: float = Field(
        gt=0, description="Per order, audit and mark included, without full-page images."
    )
    image_bytes: float = Field(
        gt=0, description="One full-page image: what a checkpoint added, by the number of images."
    )


class Table(Section):
    """One table, per order; the dead row that a mark leaves counts."""

    rows: float = Field(ge=0, description="Bytes of rows.")
    indexes: float = Field(ge=0, description="Bytes of all indexes.")


class Topic(Section):
    """One topic, per record, in the broker's files."""

    together: float = Field(gt=0, description="In large batches: a backlog.")
    alone: float = Field(gt=0, description="In a batch of its own.")


class Lake(Section):
    """The landed tables."""

    row_bytes: Mapping[str, float] = Field(description="Per record, in compacted files, by topic.")
    file_bytes: float = Field(gt=0, description="A file beside its rows: files of ten records.")
    files_of_partition: float = Field(
        gt=0, description="Files that an append writes for each partition of its topic."
    )
    commit_bytes: float = Field(gt=0, description="A commit in a table's log.")
    entry_bytes: float = Field(
        gt=0, description="A file of the table in a checkpoint of its log: between two of them."
    )
    tombstone_bytes: float = Field(
        gt=0, description="The same for a file that compaction has replaced: one checkpoint later."
    )


class Cpu(Section):
    """Seconds of one core per order, in batches of 500."""

    service: float = Field(gt=0, description="Python and librdkafka.")
    postgres: float = Field(gt=0, description="All processes of the server, decoding included.")
    walsender: float = Field(gt=0, description="Of these, the one that decodes for a connector.")
    kafka: float = Field(gt=0, description="The broker.")
    connect: float = Field(gt=0, description="The worker, with both connectors.")
    audit: float = Field(gt=0, description="The audit receiver.")


class Constants(Section):
    """Everything that was measured."""

    about: About = Field(description="What the numbers belong to.")
    worker: Worker = Field(description="One service process; seconds.")
    connect: Connect = Field(description="One task of Kafka Connect; seconds, and MiB of heap.")
    log: Log = Field(description="PostgreSQL's write-ahead log; bytes.")
    tables: Mapping[str, Table] = Field(
        description="Growth of each table per order in bytes, right after the orders, no vacuum."
    )
    keys: Mapping[str, float] = Field(
        description="Growth per order in bytes of each index whose keys come in no sequence:"
        " after a checkpoint, the first write to each of its pages logs the whole page."
    )
    topics: Mapping[str, Topic] = Field(
        description="Bytes per record in the broker's files: of a backlog, and one by one."
    )
    lake: Lake = Field(description="The landed tables; bytes and files.")
    cpu: Cpu = Field(description="Seconds of one core per order.")


def read_constants(file: Path = FILE) -> Constants:
    """Return what is in a file; refuse one that is not whole."""
    try:
        document = tomllib.loads(file.read_text())
        return Constants.model_validate(document)
    except OSError as error:
        raise StackError(f"--constants: {file}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise StackError(f"--constants: {file} is no TOML: {error}") from None
    except ValidationError as error:
        first, *_ = error.errors()
        place = ".".join(map(str, first["loc"]))
        raise StackError(
            f"--constants: {file}: {place}: {first['msg']}; write it again with --measure"
        ) from None


def write_constants(constants: Constants, file: Path) -> None:
    """Write the file that read_constants reads, with a comment above each value."""
    file.write_text("\n".join([HEAD, *lines(constants)]) + "\n")


def lines(constants: Constants) -> Iterator[str]:
    """Yield the file's lines, table by table."""
    for name, field in type(constants).model_fields.items():
        yield ""
        yield f"# {field.description}"
        section = getattr(constants, name)
        if isinstance(section, Section):
            yield f"[{name}]"
            yield from lines_of(section)
        elif all(isinstance(value, Section) for value in section.values()):
            for key, inner in section.items():
                yield f'[{name}."{key}"]'
                yield from lines_of(inner)
        else:
            yield f"[{name}]"
            yield from pairs(section)


def lines_of(section: Section) -> Iterator[str]:
    """Yield each value with its description above."""
    for name, field in type(section).model_fields.items():
        yield f"# {field.description}"
        value = getattr(section, name)
        if isinstance(value, Mapping):
            inline = ", ".join(pairs(value))
            yield f"{name} = {{ {inline} }}"
        else:
            yield f"{name} = {write_value(value)}"


def pairs(values: Mapping[str, float]) -> Iterator[str]:
    """Yield names and numbers."""
    for key, value in values.items():
        yield f'"{key}" = {write_value(value)}'


def write_value(value: float | str) -> str:
    """Return a value as TOML has it; four digits say more than the machine repeats."""
    if isinstance(value, str):
        return f'"{value}"'
    return str(value) if isinstance(value, int) else f"{value:.4g}"
