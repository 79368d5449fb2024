"""The heartbeat: without one that works, a quiet outbox beside busy tables keeps the log for ever."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding, Severity

ERROR = Severity.ERROR
INTERVAL, QUERY = "heartbeat.interval.ms", "heartbeat.action.query"
ACTION = f'"{QUERY}": "update heartbeat set at = now()"'  # noqa: S608 - to be read by people


def heartbeat(outbox: Outbox) -> Iterator[Finding]:
    """There is one, it writes, and what it writes reaches the slot and disturbs nobody."""
    interval, query = outbox.value(INTERVAL, "0"), outbox.value(QUERY)
    if interval == "0":
        message = f"{INTERVAL} is not set: while the outbox is quiet and other tables are not, the slot stands still, "
        fix = f'"{INTERVAL}": "5000", {ACTION}'
        yield outbox.finding(
            "heartbeat-off", ERROR, INTERVAL, f"{message}and the log fills the disk", fix
        )
    elif query == "":
        message = f"{QUERY} is not set: a heartbeat that writes nothing does not move the slot"
        yield outbox.finding("heartbeat-writes-nothing", ERROR, QUERY, message, ACTION)
    elif outbox.heartbeat[1]:
        yield from reaches(outbox, *outbox.heartbeat)
        yield from disturbs(outbox, outbox.heartbeat[1])


def reaches(outbox: Outbox, operation: str, table: str) -> Iterator[Finding]:
    """What is written is published: otherwise the slot stands still, and nobody is told."""
    publication, name = outbox.publication, outbox.value("publication.name", "dbz_publication")
    known = outbox.around.tables.get(table)
    if publication and publication.tables is not None and table not in publication.tables:
        message = (
            f"{QUERY} writes to {table}, which is not in publication {name}: the slot does not move"
        )
        fix = f"alter publication {name} add table {table};"
        yield outbox.finding("heartbeat-not-published", ERROR, QUERY, message, fix)
    if publication and operation not in publication.operations:
        message = f"{QUERY} is an {operation}, and publication {name} publishes none: the slot does not move"
        fix = f"alter publication {name} set (publish = '{', '.join(sorted(publication.operations | {operation}))}');"
        yield outbox.finding("heartbeat-operation-not-published", ERROR, QUERY, message, fix)
    if known and operation == "update" and not known.updatable:
        message = f"{table} has no replica identity: the server refuses {QUERY}, and only Connect's log tells of it"
        fix = f"alter table {table} replica identity default;"
        yield outbox.finding("replica-identity", ERROR, QUERY, message, fix)


def disturbs(outbox: Outbox, table: str) -> Iterator[Finding]:
    """The heartbeat's own changes are no events."""
    if table in outbox.included and not outbox.router("predicate"):
        fatal = outbox.router("table.op.invalid.behavior", "warn") == "fatal"
        told = "stops the task" if fatal else "tells each beat in the log as a mistake"
        message = f"{table} is also in table.include.list, so its changes go through the event router, which {told}"
        fix = (
            f'"table.include.list": "{",".join(name for name in outbox.included if name != table)}"'
        )
        severity = ERROR if fatal else Severity.WARNING
        yield outbox.finding("heartbeat-included", severity, "table.include.list", message, fix)
