"""python -m migrations upgrade | downgrade: roles, databases, tables, slots, in the order that works."""

import argparse
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine

from migrations.server import drop_slot, make_database, make_roles, make_slot
from migrations.settings import Settings

HERE = Path(__file__).parent


def main() -> None:
    """Bring both databases to the newest revision, or take everything away again."""
    parser = argparse.ArgumentParser(prog="python -m migrations", description=__doc__)
    parser.add_argument("direction", choices=["upgrade", "downgrade"])
    parser.add_argument("--without-slots", action="store_true", help="for a copy that no connector reads")
    asked = parser.parse_args()
    settings = Settings()
    if asked.direction == "upgrade":
        with engine(settings, "postgres").connect() as admin:
            make_roles(admin, settings.secrets_dir)
            for database in settings.databases().values():
                make_database(admin, database)
    for name, database in settings.databases().items():
        with engine(settings, database).connect() as admin:
            (upgrade if asked.direction == "upgrade" else downgrade)(admin, name, slots=not asked.without_slots)
        print(f"{name}: {asked.direction} done")  # noqa: T201 - a one-shot says what it did


def engine(settings: Settings, database: str) -> Engine:
    """The administrator's engine, with no transaction but those that are asked for."""
    return create_engine(settings.admin_url(database), isolation_level="AUTOCOMMIT")


def upgrade(admin: Connection, name: str, *, slots: bool) -> None:
    """Tables first, then the slot, then (elsewhere) the service."""
    command.upgrade(config(admin, name), "head")
    if slots:
        make_slot(admin, f"{name}_outbox")


def downgrade(admin: Connection, name: str, *, slots: bool) -> None:
    """The slot first: as long as it is in use nothing else is taken away."""
    if slots:
        drop_slot(admin, f"{name}_outbox")
    command.downgrade(config(admin, name), "base")


def config(admin: Connection, name: str) -> Config:
    """Alembic's configuration, here instead of in a file of its own."""
    alembic = Config(attributes={"engine": admin.engine})
    alembic.set_main_option("script_location", str(HERE))
    alembic.set_main_option("version_locations", str(HERE / name))
    alembic.set_main_option("path_separator", "os")
    return alembic


if __name__ == "__main__":
    main()
