"""The columns that the event router asks for, and what they become."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.patterns import names
from pipeline_check.connector.surroundings import Table
from pipeline_check.rules.finding import Finding, Severity

FIELDS = {  # key of the router -> the column that it means when it is not set
    "table.field.event.id": "id",
    "table.field.event.key": "aggregateid",
    "table.field.event.payload": "payload",
    "table.field.event.timestamp": "",
    "table.field.event.schema.version": "",
    "route.by.field": "aggregatetype",
}
PLACEMENT = "table.fields.additional.placement"


def columns(outbox: Outbox) -> Iterator[Finding]:
    """Every column that is asked for exists, and holds what it should."""
    table = outbox.table
    if table is None:
        name = outbox.included[0] if outbox.included else "the outbox"
        message = f"not judged: the columns of {name}, because no CREATE TABLE for it was found once and only once"
        fix = "name the folder of its migrations too"
        yield outbox.finding(
            "outbox-table-unknown", Severity.NOTE, "table.include.list", message, fix
        )
        return
    for key, default in FIELDS.items():
        yield from exists(outbox, table, key, outbox.router(key, default))
    yield from payload(outbox, table)
    for placed in names(outbox.router(PLACEMENT)):
        yield from placement(outbox, table, placed)


def exists(outbox: Outbox, table: Table, key: str, column: str | None) -> Iterator[Finding]:
    """The column is there; the router only learns it at the first row, and the task then fails."""
    if column and column not in table.columns:
        near = ", ".join(table.columns)
        message = f"{outbox.prefix}{key}={column}, and {table.name} has no such column: the task fails at the first row"
        fix = f'"{outbox.prefix}{key}": one of {near}'
        yield outbox.finding(
            "router-column-missing", Severity.ERROR, f"{outbox.prefix}{key}", message, fix
        )


def payload(outbox: Outbox, table: Table) -> Iterator[Finding]:
    """The payload is never null, and keeps its bytes."""
    name = outbox.router("table.field.event.payload", "payload") or ""
    column, key = table.columns.get(name), f"{outbox.prefix}table.field.event.payload"
    if column and column.nullable:
        message = f"{table.name}.{name} may be NULL, which is published as a tombstone"
        fix = f"alter table {table.name} alter column {name} set not null;"
        yield outbox.finding("payload-nullable", Severity.WARNING, key, message, fix)
    if column and column.type == "jsonb":
        message = f"{table.name}.{name} is jsonb: spaces, key order and repeated keys are not kept, so hashes differ"
        fix = f"alter table {table.name} alter column {name} type json using {name}::json;"
        yield outbox.finding("payload-jsonb", Severity.NOTE, key, message, fix)


def placement(outbox: Outbox, table: Table, placed: str) -> Iterator[Finding]:
    """A placed column is there, is written in a way that the router reads, and is never null nor a bare number."""
    key = f"{outbox.prefix}{PLACEMENT}"
    name, where, *_ = [*placed.split(":"), "", ""]
    column = table.columns.get(name)
    if where not in ("header", "envelope", "partition") or placed.count(":") > 2:
        message = f"{key} has {placed}, which is not column:header or column:header:alias"
        yield outbox.finding(
            "placement-unreadable", Severity.ERROR, key, message, f'"{name}:header"'
        )
    elif column is None:
        yield from exists(outbox, table, PLACEMENT, name)
    elif where == "header" and column.nullable:
        message = f"{table.name}.{name} may be NULL: its header is then null, which CloudEvents readers die of"
        fix = f"alter table {table.name} alter column {name} set not null;"
        yield outbox.finding("header-nullable", Severity.WARNING, key, message, fix)
    elif where == "header" and re.match(
        r"(timestamp(?!.*with time zone)(?!tz)|date\b)", column.type
    ):
        message = f"{table.name}.{name} is {column.type}: its header is a count of microseconds or days, not a time"
        fix = f"alter table {table.name} alter column {name} type timestamptz;"
        yield outbox.finding("header-time", Severity.WARNING, key, message, fix)
