"""The heartbeat: without one, a quiet outbox beside busy tables keeps the log for ever."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding

INTERVAL = "heartbeat.interval.ms"
QUERY = "heartbeat.action.query"
ACTION = f'"{QUERY}": "update heartbeat set at = now()"'  # noqa: S608 - to be read by people


def heartbeat(outbox: Outbox) -> Iterator[Finding]:
    """Check that there is a heartbeat, that it writes, and that its writes reach the slot."""
    operation, table = outbox.heartbeat
    if outbox.value(INTERVAL, "0") == "0":
        yield outbox.error(
            "heartbeat-off",
            INTERVAL,
            f"{INTERVAL} is not set: while the outbox is quiet and other tables are not, the slot "
            "does not move, and the log fills the disk",
            f'"{INTERVAL}": "5000", {ACTION}',
        )
    elif outbox.value(QUERY) == "":
        yield outbox.error(
            "heartbeat-writes-nothing",
            QUERY,
            f"{QUERY} is not set: a heartbeat that writes nothing does not move the slot",
            ACTION,
        )
    elif table:
        yield from heartbeat_is_published(outbox, operation, table)
        yield from heartbeat_is_no_event(outbox, table)


def heartbeat_is_published(outbox: Outbox, operation: str, table: str) -> Iterator[Finding]:
    """Check that the heartbeat is published: otherwise the slot does not move, without an error."""
    publication = outbox.publication
    name = outbox.publication_name
    if publication and publication.tables is not None and table not in publication.tables:
        yield outbox.error(
            "heartbeat-not-published",
            QUERY,
            f"{QUERY} writes to {table}, which is not in publication {name}: the slot does not "
            "move",
            f"alter publication {name} add table {table};",
        )
    if publication and operation not in publication.operations:
        operations = ", ".join(sorted(publication.operations | {operation}))
        yield outbox.error(
            "heartbeat-operation-not-published",
            QUERY,
            f"{QUERY} is an {operation}, and publication {name} publishes none: the slot does not "
            "move",
            f"alter publication {name} set (publish = '{operations}');",
        )
    known = outbox.around.tables.get(table)
    if known and operation == "update" and not known.updatable:
        yield outbox.error(
            "replica-identity",
            QUERY,
            f"{table} has no replica identity: the server refuses {QUERY}, and only Connect's log "
            "tells of it",
            f"alter table {table} replica identity default;",
        )


def heartbeat_is_no_event(outbox: Outbox, table: str) -> Iterator[Finding]:
    """Check that the heartbeat's own changes do not go through the event router."""
    if table not in outbox.included or outbox.router("predicate"):
        return
    key = "table.include.list"
    others = ",".join(name for name in outbox.included if name != table)
    fix = f'"{key}": "{others}"'
    message = f"{table} is also in {key}, so its changes go through the event router, which"
    if outbox.router("table.op.invalid.behavior", "warn") == "fatal":
        yield outbox.error("heartbeat-included", key, f"{message} stops the task", fix)
    else:
        message = f"{message} tells each beat in the log as a mistake"
        yield outbox.warning("heartbeat-included", key, message, fix)
