"""Every dedup store that has a file, and the databases that they are tried in."""

import subprocess
import sys

from ops.stack.stack import Stack
from service.dedup import load_store, stores

STORES = sorted(stores())
SQL = [
    name for name in STORES if hasattr(load_store(name), "FRESH")
]  # their claim is part of the business statement
OWN_TABLES = [name for name in SQL if hasattr(load_store(name), "TABLES")]
RETAINED = [name for name in SQL if hasattr(load_store(name), "FORGET")]


def apply_tables(stack: Stack, name: str) -> None:
    """What `pipeline up` does before the service starts."""
    env = stack.env() | {"DEDUP_STORE": name}
    command = [sys.executable, "-m", "ops.stack.dedup_tables"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
