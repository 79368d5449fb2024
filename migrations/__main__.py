"""python -m migrations upgrade | downgrade: roles, databases, tables and slots."""

import argparse
import sys

from migrations.revisions import SchemaError, downgrade_tables, refuse_missing, upgrade_tables
from migrations.server import MAY_ENTER, drop_slot, make_database, make_roles, make_slot
from migrations.settings import Settings


def main() -> None:
    """Bring both databases to the newest revisions, or take everything away again."""
    parser = argparse.ArgumentParser(prog="python -m migrations", description=__doc__)
    parser.add_argument("direction", choices=["upgrade", "downgrade"])
    parser.add_argument(
        "--without-slots", action="store_true", help="for a copy that no connector reads"
    )
    asked = parser.parse_args()
    with_slots = not asked.without_slots
    settings = Settings()
    try:
        if asked.direction == "upgrade":
            upgrade(settings, with_slots=with_slots)
        else:
            downgrade(settings)
    except SchemaError as refusal:
        print(f"migrations: {refusal}", file=sys.stderr)
        sys.exit(2)


def upgrade(settings: Settings, *, with_slots: bool) -> None:
    """Make what is missing: roles, databases, tables, and the slots before the service starts."""
    with settings.connect("postgres") as admin:
        make_roles(admin, settings.secrets_dir)
        for name, database in settings.databases().items():
            make_database(admin, database, MAY_ENTER[name])
    for name, database in settings.databases().items():
        upgrade_tables(settings, name)
        if with_slots:
            with settings.connect(database) as admin:
                make_slot(admin, f"{name}_outbox")
        print(f"{name}: upgrade done")


def downgrade(settings: Settings) -> None:
    """Take slots and tables away; the slot first, so that nothing is taken from a connector."""
    for name in settings.databases():
        refuse_missing(settings, name)
    for name, database in settings.databases().items():
        with settings.connect(database) as admin:
            drop_slot(admin, f"{name}_outbox")
        downgrade_tables(settings, name)
        print(f"{name}: downgrade done")


if __name__ == "__main__":
    main()
