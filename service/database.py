"""The way to a database: one statement is one transaction, unless the word transaction is written."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from service.outage import OutageError, RefusedError

# Connection, authorization (a password in rotation), deadlock and serialization, resources, locks,
# shutdown, the server's disk; 25006 is a standby that was promoted, or is about to be.
OUTAGES = ("08", "28", "40", "53", "55", "57", "58", "25006")
# Data and integrity; 54000 is a limit of the server, such as a row that is too wide.
REFUSALS = ("22", "23", "54000")
MISSING = ("42P01", "42703")  # a table, a column


def connect_to(url: str, password_file: Path, timeout_seconds: float, options: str = "") -> Engine:
    """An engine whose statements commit themselves, and which notices within the timeout that a server is lost."""
    seconds, milliseconds = max(2, int(timeout_seconds)), int(timeout_seconds * 1000)
    limits = {
        "connect_timeout": seconds,
        "tcp_user_timeout": milliseconds,
    }  # a server may vanish without a word
    options = f"-c statement_timeout={milliseconds} {options}"
    conninfo = make_conninfo(url, **limits, options=options, application_name="pipeline")

    def connect() -> (
        psycopg.Connection
    ):  # reads the password each time: a rotated secret needs no restart
        return psycopg.connect(conninfo, password=password_file.read_text().strip())

    return create_engine("postgresql+psycopg://", creator=connect, isolation_level="AUTOCOMMIT")


@contextmanager
def classify_errors() -> Iterator[None]:
    """Every database error inside leaves as an outage, a refusal, or the defect that it is: by its SQLSTATE alone."""
    try:
        yield
    except DBAPIError as error:
        cause: Any = error.orig  # psycopg's; without a SQLSTATE there was no server to answer
        sqlstate = cause.sqlstate or ""
        if sqlstate.startswith(OUTAGES) or (isinstance(error, OperationalError) and not sqlstate):
            raise OutageError(
                f"database: {sqlstate or 'no connection'}", sqlstate=sqlstate
            ) from error
        if sqlstate.startswith(REFUSALS):
            what = f"{sqlstate} {cause.diag.constraint_name or ''}".strip()
            raise RefusedError(f"refused by the database: {what}") from error
        if sqlstate in MISSING:
            way = "run the migrations, and apply the tables of DEDUP_STORE (README: Choosing a dedup store)"
            raise SystemExit(f"database: {cause.diag.message_primary}: {way}") from error
        raise


def is_reachable(engine: Engine) -> bool:
    """Whether the database answers; for readiness, so every error is a no."""
    with suppress(DBAPIError), engine.connect() as connection:
        return connection.scalar(text("select true")) is True
    return False
