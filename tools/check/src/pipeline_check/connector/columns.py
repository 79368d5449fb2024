"""The columns that the event router asks for, and what they become."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import Table, split_names
from pipeline_check.rules.finding import Finding

FIELDS = {  # key of the router -> the column that it means when it is not set
    "table.field.event.id": "id",
    "table.field.event.key": "aggregateid",
    "table.field.event.payload": "payload",
    "table.field.event.timestamp": "",
    "table.field.event.schema.version": "",
    "route.by.field": "aggregatetype",
}
PLACEMENT = "table.fields.additional.placement"
PLACES = ("header", "envelope", "partition")
TAKEN_AS_TIME = re.compile(r"timestamp(?!.*with time zone)(?!tz)")
TIME_WITHOUT_ZONE = re.compile(r"(timestamp(?!.*with time zone)(?!tz)|date\b)")


def columns(outbox: Outbox) -> Iterator[Finding]:
    """Check that every column that is asked for exists, and holds what it should."""
    table = outbox.table
    if table is None:
        name = outbox.included[0] if outbox.included else "the outbox"
        yield outbox.note(
            "outbox-table-unknown",
            "table.include.list",
            f"not judged: the columns of {name}, because no CREATE TABLE for it was found once "
            "and only once",
            "name the folder of its migrations too",
        )
        return
    for key, default in FIELDS.items():
        yield from column_exists(outbox, table, key, outbox.router(key, default))
    yield from timestamp(outbox, table)
    yield from payload(outbox, table)
    for placed in split_names(outbox.router(PLACEMENT)):
        yield from placement(outbox, table, placed)


def column_exists(
    outbox: Outbox, table: Table, router_key: str, column: str | None
) -> Iterator[Finding]:
    """Check that a column exists; the router only notices at the first row, and the task fails."""
    if not column or column in table.columns:
        return
    key = f"{outbox.prefix}{router_key}"
    yield outbox.error(
        "router-column-missing",
        key,
        f"{key}={column}, and {table.name} has no such column: the task fails at the first row",
        f'"{key}": one of {", ".join(table.columns)}',
    )


def timestamp(outbox: Outbox, table: Table) -> Iterator[Finding]:
    """Check that the event's time has a type that the router takes; it sees it at the first row."""
    router_key = "table.field.event.timestamp"
    name = outbox.router(router_key) or ""
    column = table.columns.get(name)
    if column and not TAKEN_AS_TIME.match(column.type):
        key = f"{outbox.prefix}{router_key}"
        yield outbox.error(
            "event-timestamp-type",
            key,
            f"{table.name}.{name} is {column.type}, and the router takes only a timestamp without "
            "time zone for it: the task fails at the first row",
            f"remove {key}: records then have the time of the transaction",
        )


def payload(outbox: Outbox, table: Table) -> Iterator[Finding]:
    """Check that the payload is never null, and keeps its bytes."""
    key = f"{outbox.prefix}table.field.event.payload"
    name = outbox.router("table.field.event.payload", "payload") or ""
    column = table.columns.get(name)
    if column and column.nullable:
        yield outbox.warning(
            "payload-nullable",
            key,
            f"{table.name}.{name} may be NULL, which is published as a tombstone",
            f"alter table {table.name} alter column {name} set not null;",
        )
    if column and column.type == "jsonb":
        yield outbox.note(
            "payload-jsonb",
            key,
            f"{table.name}.{name} is jsonb: spaces, key order and repeated keys are not kept, so "
            "hashes differ",
            f"alter table {table.name} alter column {name} type json using {name}::json;",
        )


def placement(outbox: Outbox, table: Table, placed: str) -> Iterator[Finding]:
    """Check that a placed column exists, can be read, and is never null nor a bare number."""
    key = f"{outbox.prefix}{PLACEMENT}"
    name, where, *_ = [*placed.split(":"), "", ""]
    column = table.columns.get(name)
    if where not in PLACES or placed.count(":") > 2:
        yield outbox.error(
            "placement-unreadable",
            key,
            f"{key} has {placed}, which is not column:header or column:header:alias",
            f'"{name}:header"',
        )
    elif column is None:
        yield from column_exists(outbox, table, PLACEMENT, name)
    elif where == "header" and column.nullable:
        yield outbox.warning(
            "header-nullable",
            key,
            f"{table.name}.{name} may be NULL: its header is then null, which CloudEvents readers "
            "die of",
            f"alter table {table.name} alter column {name} set not null;",
        )
    elif where == "header" and TIME_WITHOUT_ZONE.match(column.type):
        yield outbox.warning(
            "header-time",
            key,
            f"{table.name}.{name} is {column.type}: its header is a count of microseconds or days, "
            "not a time",
            f"alter table {table.name} alter column {name} type timestamptz;",
        )
