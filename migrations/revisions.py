"""Alembic's revisions of a database: those in this folder, and those of the extras that are here.

Each extra is a branch of its own that begins at 0001, so a copy may leave it out or add it later.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine

from contract.events import EVENTS
from contract.extras import FOLDER, manifests
from contract.names import DATABASE
from migrations.aggregate_types import read_aggregate_types
from migrations.settings import Settings

HERE = Path(__file__).parent

# An extra names its revisions <extra>_<number>; 0002 is older than that rule.
OF_AN_EXTRA = re.compile(r"([a-z][a-z0-9-]*)_\d{4}")
OLDER_NAMES = {("fulfillment", "0002"): "aggregator"}

# A revision that the database has and that is not here, because its extra is not: it stays applied.
PLACEHOLDER = '''"""{extra} is not here: its tables stay as they are, and nobody reads them."""

revision = "{revision}"
down_revision = "0001"


def upgrade() -> None:
    """Do nothing: it has been applied."""


def downgrade() -> None:
    """Do nothing: what the extra made is not known here."""
'''


class SchemaError(Exception):
    """The database is not one that these revisions can bring forward or take back."""


def upgrade_tables(settings: Settings, name: str) -> None:
    """Bring a database to the newest revision of the core and of every extra that is here.

    The extras come first, because 0002 gives the outbox a fixed list of aggregate types.
    """
    missing = find_missing(settings, name)
    with alembic_config(settings, name, missing) as config:
        for head in heads_of_extras(config):
            command.upgrade(config, head)
        command.upgrade(config, "heads")
        if name == DATABASE:
            refuse_unknown_types(config, settings.databases()[name])


def heads_of_extras(config: Config) -> list[str]:
    """Return the newest revision of each extra."""
    scripts = ScriptDirectory.from_config(config)
    heads = []
    for head in scripts.get_heads():
        script = scripts.get_revision(head)
        if FOLDER in Path(script.path).parents:
            heads.append(head)
    return heads


def refuse_unknown_types(config: Config, database: str) -> None:
    """Refuse an outbox that would not take what the contract publishes."""
    engine: Engine = config.attributes["engine"]
    with engine.connect() as connection:
        allowed = read_aggregate_types(connection)
    for event in EVENTS:
        if event.aggregate_type not in allowed:
            raise SchemaError(
                f"the outbox of database {database} takes no aggregate type {event.aggregate_type}"
                f" ({event.event_type} in contract/events.py): add a revision that says "
                f'allow_aggregate_type("{event.aggregate_type}")'
            )


def downgrade_tables(settings: Settings, name: str) -> None:
    """Take all tables of a database away again."""
    with alembic_config(settings, name, {}) as config:
        command.downgrade(config, "base")


def refuse_missing(settings: Settings, name: str) -> None:
    """Refuse a downgrade that would leave the tables of an extra behind."""
    missing = find_missing(settings, name)
    if missing:
        revision, extra = next(iter(missing.items()))
        database = settings.databases()[name]
        raise SchemaError(
            f"revision {revision} of database {database} belongs to the extra "
            f"{extra}, which is not here: put extras/{extra} back, then run the downgrade again"
        )


def find_missing(settings: Settings, name: str) -> dict[str, str]:
    """Return the applied revisions that left with their extra, and the name of the extra."""
    database = settings.databases()[name]
    with settings.connect(database) as connection:
        applied = read_applied(connection, database)
    with alembic_config(settings, name, {}) as config:
        unknown = applied - known_revisions(config)
    missing = {}
    for revision in sorted(unknown):
        missing[revision] = extra_of(revision, name, database)
    return missing


@contextmanager
def alembic_config(settings: Settings, name: str, missing: dict[str, str]) -> Iterator[Config]:
    """Give Alembic the revisions that are here, and a placeholder for each that is missing."""
    database = settings.databases()[name]
    connect = partial(settings.connect, database, autocommit=False)
    engine = create_engine("postgresql+psycopg://", creator=connect)
    with tempfile.TemporaryDirectory() as placeholders:
        for revision, extra in missing.items():
            text = PLACEHOLDER.format(revision=revision, extra=extra)
            file = Path(placeholders, f"{revision}.py")
            file.write_text(text)
        folders = [*map(str, revision_folders(name)), placeholders]
        config = Config(attributes={"engine": engine})
        options = {
            "script_location": str(HERE),
            "version_locations": os.pathsep.join(folders),
            "path_separator": "os",
        }
        config.file_config["alembic"].update(options)
        try:
            yield config
        finally:
            engine.dispose()


def revision_folders(name: str) -> list[Path]:
    """Return where the revisions of this database are: here, and in the extras that are here."""
    folders = [HERE / name]
    for extra, section in manifests("migrations").items():
        if name in section:
            folder = FOLDER / extra / section[name]
            folders.append(folder)
    return folders


def known_revisions(config: Config) -> set[str]:
    """Return the revisions that are here."""
    scripts = ScriptDirectory.from_config(config)
    return {script.revision for script in scripts.walk_revisions()}


def read_applied(connection: psycopg.Connection, database: str) -> set[str]:
    """Return the newest applied revision of each branch, or refuse a foreign database."""
    found = connection.execute("select tablename from pg_tables where schemaname = 'public'")
    tables = {table for (table,) in found}
    applied = set[str]()
    if "alembic_version" in tables:
        found = connection.execute("select version_num from alembic_version")
        applied = {revision for (revision,) in found}
    foreign = sorted(tables - {"alembic_version"})
    if foreign and not applied:
        first_three = ", ".join(foreign[:3])
        raise SchemaError(
            f"database {database} has tables that none of our revisions made "
            f"({first_three}): name an empty one (DATABASE_URL, AUDIT_DATABASE_URL)"
        )
    return applied


def extra_of(revision: str, name: str, database: str) -> str:
    """Return the extra that a revision belongs to, or refuse a revision of nobody."""
    older = OLDER_NAMES.get((name, revision))
    if older:
        return older
    named = OF_AN_EXTRA.fullmatch(revision)
    if named:
        extra = named[1]
        if extra not in installed_extras():
            return extra
    raise SchemaError(
        f"database {database} is at revision {revision}, which is not here: "
        "take the version of the project that made it, or name an empty database"
    )


def installed_extras() -> set[str]:
    """Return the names of the extras that are here."""
    return set(manifests("title"))
