"""Connecting to a database, and what its errors mean.

Each statement is its own transaction, unless the code says otherwise.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from service.logs import exit_with_error
from service.outage import OutageError, RefusedError

# Connection, authorization (a password in rotation), deadlock and serialization, resources, locks,
# shutdown, the server's disk; 25006 is a standby that was promoted, or is about to be.
OUTAGES = ("08", "28", "40", "53", "55", "57", "58", "25006")

# Data and integrity; 54000 is a limit of the server, such as a row that is too wide.
REFUSALS = ("22", "23", "54000")

# A table or a column that is not there.
MISSING = ("42P01", "42703")


def connect_to(url: str, password_file: Path, timeout_seconds: float, options: str = "") -> Engine:
    """Return an engine that commits each statement, and notices a lost server in time."""
    timeout_milliseconds = int(timeout_seconds * 1000)
    conninfo = make_conninfo(
        url,
        connect_timeout=max(2, int(timeout_seconds)),
        tcp_user_timeout=timeout_milliseconds,  # a server may vanish without a word
        options=f"-c statement_timeout={timeout_milliseconds} {options}",
        application_name="pipeline",
    )

    def connect() -> psycopg.Connection:
        # Read for each connection, so that a rotated password needs no restart.
        password = password_file.read_text().strip()
        return psycopg.connect(conninfo, password=password)

    return create_engine("postgresql+psycopg://", creator=connect, isolation_level="AUTOCOMMIT")


@contextmanager
def classify_errors() -> Iterator[None]:
    """Raise every database error inside as an outage, a refusal, or the defect that it is.

    What it is follows from its SQLSTATE alone.
    """
    try:
        yield
    except DBAPIError as error:
        cause: Any = error.orig
        sqlstate = cause.sqlstate or ""
        no_server_answered = isinstance(error, OperationalError) and not sqlstate
        if no_server_answered or sqlstate.startswith(OUTAGES):
            what = f"database: {sqlstate or 'no connection'}"
            raise OutageError(what, sqlstate=sqlstate) from error
        if is_rule_defect(cause.diag):
            exit_with_error(
                "service/rule.sql: a message has not exactly one deciding event, or one that"
                " contract/events.py or the outbox's check of aggregate_type does not know:"
                f" {cause.diag.message_primary}"
            )
        if sqlstate.startswith(REFUSALS):
            what = f"{sqlstate} {cause.diag.constraint_name or ''}".strip()
            raise RefusedError(f"refused by the database: {what}") from error
        if sqlstate in MISSING:
            exit_with_error(
                f"database: {cause.diag.message_primary}: run the migrations"
                " (python -m migrations upgrade)"
            )
        raise


def is_rule_defect(diagnosis: psycopg.errors.Diagnostic) -> bool:
    """Return whether the outbox refused what no message can be blamed for: a kind of event."""
    is_null = diagnosis.sqlstate == "23502" and diagnosis.table_name == "outbox"
    is_unknown_type = diagnosis.constraint_name == "outbox_aggregate_type_check"
    return is_null or is_unknown_type


def is_reachable(engine: Engine) -> bool:
    """Return whether the database answers; for readiness, so every error is a no."""
    with suppress(DBAPIError), engine.connect() as connection:
        return connection.scalar(text("select true")) is True
    return False
