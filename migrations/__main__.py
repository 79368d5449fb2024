"""python -m migrations upgrade | downgrade: roles, databases, tables, slots, in the order that works."""

import argparse
import os
from functools import partial
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from contract.extras import FOLDER, manifests
from migrations.server import MAY_ENTER, drop_slot, make_database, make_roles, make_slot
from migrations.settings import Settings

HERE = Path(__file__).parent


def versions(database: str) -> list[Path]:
    """Return where the revisions of this database are: here, and in the extras that are here."""
    sections = manifests("migrations").items()
    return [
        HERE / database,
        *(FOLDER / name / section[database] for name, section in sections if database in section),
    ]


def main() -> None:
    """Bring both databases to the newest revision, or take everything away again."""
    parser = argparse.ArgumentParser(prog="python -m migrations", description=__doc__)
    parser.add_argument("direction", choices=["upgrade", "downgrade"])
    parser.add_argument(
        "--without-slots", action="store_true", help="for a copy that no connector reads"
    )
    asked, settings = parser.parse_args(), Settings()
    if asked.direction == "upgrade":
        with settings.connect("postgres") as admin:
            make_roles(admin, settings.secrets_dir)
            for name, database in settings.databases().items():
                make_database(admin, database, MAY_ENTER[name])
    for name, database in settings.databases().items():
        engine = create_engine(
            "postgresql+psycopg://", creator=partial(settings.connect, database, autocommit=False)
        )
        alembic = Config(attributes={"engine": engine})
        places = {
            "script_location": str(HERE),
            "version_locations": os.pathsep.join(map(str, versions(name))),
            "path_separator": "os",
        }
        alembic.file_config["alembic"].update(places)
        with settings.connect(database) as admin:
            if (
                asked.direction == "upgrade"
            ):  # tables first, then the slot, then (elsewhere) the service
                command.upgrade(alembic, "heads")
                if not asked.without_slots:
                    make_slot(admin, f"{name}_outbox")
            else:  # the slot first: as long as it is in use nothing else is taken away
                drop_slot(admin, f"{name}_outbox")
                command.downgrade(alembic, "base")
        print(f"{name}: {asked.direction} done")  # noqa: T201 - a one-shot says what it did


main()
