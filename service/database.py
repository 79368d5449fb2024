"""The way to a database: one statement is one transaction, unless the word transaction is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from service.outage import OutageError, RefusedError

# Connection, authorization (a password in rotation), deadlock and serialization, resources, locks,
# shutdown, the server's disk; 25006 is a standby that was promoted, or is about to be.
OUTAGES = ("08", "28", "40", "53", "55", "57", "58", "25006")
# Data and integrity; 54000 is a limit of the server, such as a row that is too wide.
REFUSALS = ("22", "23", "54000")


def connect_to(url: str, password_file: Path, timeout_seconds: float, options: str = "") -> Engine:
    """An engine whose statements commit themselves; a lost server is noticed within the timeout."""
    milliseconds = int(timeout_seconds * 1000)

    def connect() -> psycopg.Connection:
        return psycopg.connect(
            url,
            password=password_file.read_text().strip(),  # at each connect: a rotated secret needs no restart
            connect_timeout=max(2, int(timeout_seconds)),
            tcp_user_timeout=milliseconds,  # a server that vanished without a word
            options=f"-c statement_timeout={milliseconds} {options}",
            application_name="pipeline",
        )

    return create_engine("postgresql+psycopg://", creator=connect, isolation_level="AUTOCOMMIT")


@contextmanager
def sorted_errors() -> Iterator[None]:
    """Every database error inside leaves as an outage, a refusal, or the defect that it is: by its SQLSTATE alone."""
    try:
        yield
    except DBAPIError as error:
        cause: Any = error.orig  # psycopg's; without a SQLSTATE there was no server to answer
        sqlstate = cause.sqlstate or ""
        if sqlstate.startswith(OUTAGES):
            raise OutageError(f"database: {sqlstate}", sqlstate=sqlstate) from error
        if sqlstate.startswith(REFUSALS):
            raise RefusedError(
                f"refused by the database: {sqlstate} {cause.diag.constraint_name or ''}".strip()
            ) from error
        if isinstance(error, OperationalError) and not sqlstate:
            raise OutageError("database: no connection") from error
        raise


def is_reachable(engine: Engine) -> bool:
    """Whether the database answers; for readiness, so every error is a no."""
    try:
        with engine.connect() as connection:
            return connection.scalar(text("select true")) is True
    except DBAPIError:
        return False
