"""python -m ops.stack.dedup_tables: what the chosen dedup store keeps in the database, made as the tables' owner."""

import os
import sys

from ops.settings import Settings
from ops.stack.jars import Run
from service.dedup import load_store

DEFAULT = "tracking"  # whose table is one of the migrations


def prepare(settings: Settings, run: Run) -> None:
    """Before a service starts: nothing for the default."""
    if settings.dedup_store != DEFAULT:
        run("dedup-tables", [sys.executable, "-m", "ops.stack.dedup_tables"])


def main() -> None:
    """Apply the tables, as often as you like; a store without any has none to apply."""
    from migrations.settings import Settings as Migrations  # noqa: PLC0415 - the demo's image comes without

    server, name = Migrations(), os.environ.get("DEDUP_STORE", DEFAULT)
    tables = getattr(load_store(name), "TABLES", "")
    if tables:
        with server.connect(server.databases()["fulfillment"]) as admin:
            admin.execute(f"set role owner; {tables}".encode())
    print(f"{name}: {'its tables are there' if tables else 'no tables of its own'}")


if __name__ == "__main__":
    main()
