"""The way into a database to look: as a role that only reads, and never as an administrator."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from pipeline_check.live.catalog import read
from pipeline_check.live.database import Database

LOOKING: dict[str, Any] = {
    "connect_timeout": 5,
    "options": "-c default_transaction_read_only=on -c statement_timeout=10000",
}


@contextmanager
def opened(environment: Mapping[str, str], setting: str) -> Iterator[Database]:
    """The database of one URL, asked by `reconciler` if its password is at hand, else by the URL's own role.

    The session can only read, and everything that it reads is open to any role that may connect.
    """
    url = re.sub(r"^\w+(\+\w+)?://", "postgresql://", environment[setting])
    writer = urlsplit(url).username or ""
    with session(environment, setting, url, writer) as connection:
        yield read(connection, writer, connection.info.dbname)


@contextmanager
def session(
    environment: Mapping[str, str], setting: str, url: str, writer: str
) -> Iterator["psycopg.Connection[Any]"]:
    """The first of the two roles that is let in."""
    files = {
        "reconciler": environment.get("RECONCILER_PASSWORD_FILE"),
        writer: environment.get(setting.replace("_URL", "_PASSWORD_FILE")),
    }
    refused: psycopg.Error | None = None
    for role, file in files.items():
        password = (
            Path(file).read_text(encoding="utf-8").strip() if file and Path(file).exists() else None
        )
        if role == writer or password:
            try:
                connection = psycopg.connect(
                    url, user=role, password=password, autocommit=True, **LOOKING
                )
            except psycopg.OperationalError as error:
                refused = error
                continue
            with connection:
                yield connection
            return
    raise refused or psycopg.OperationalError("no role to ask with")
