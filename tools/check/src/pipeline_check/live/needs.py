"""What one connector needs of its database, part by part."""

from collections.abc import Iterable, Iterator, Sequence

from pipeline_check.connector.outbox import Outbox
from pipeline_check.live import grants, login, slots
from pipeline_check.live.connectors import name_of
from pipeline_check.live.database import Database
from pipeline_check.live.unseen import not_looked_at
from pipeline_check.rules.finding import Finding, Severity


def of_outbox(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """What one connector needs of its database."""
    name = outbox.value("slot.name", "debezium") or ""
    yield from slots.slot(database, name, name_of(outbox.block))
    yield from grants.role(database, outbox)
    yield from grants.rewriting(database, outbox)
    yield from login.logins(database, outbox.value("database.user") or "")
    yield from there(database, outbox)


def there(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """The tables and the publication that the connector names are in the database."""
    tables = list(filter(None, dict.fromkeys([*outbox.included, outbox.heartbeat[1]])))
    name = outbox.value("publication.name", "dbz_publication")
    for table in tables:
        if table not in database.around.tables:
            message = f"there is no table {table}, which {name_of(outbox.block)} names"
            yield Finding(
                "table-missing",
                Severity.ERROR,
                database.place,
                0,
                message,
                "python -m migrations upgrade",
            )
    if name not in database.around.publications:
        message = (
            f"there is no publication {name}, and its task fails without: make it, then reconcile"
        )
        fix = f"create publication {name} for table {', '.join(tables)} with (publish = 'insert, update');"
        yield Finding("publication-missing", Severity.ERROR, database.place, 0, message, fix)


def unnamed(outboxes: Iterable[Outbox], names: Sequence[str | None]) -> Iterator[Finding]:
    """Databases that a connector reads and no URL names."""
    for outbox in outboxes:
        database = outbox.value("database.dbname")
        if database not in names and None not in names:
            what = f"database {database} of {name_of(outbox.block)}: no ..._DATABASE_URL names it"
            yield not_looked_at(
                "postgres",
                what,
                f"export OTHER_DATABASE_URL=postgresql://<writer>@<host>/{database}",
            )
