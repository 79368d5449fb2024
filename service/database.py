"""Connecting to a database, and what its errors mean.

Each statement is its own transaction, unless the code says otherwise.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.errors import Diagnostic
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from service.logs import exit_with_error
from service.outage import OutageError, RefusedError, TooSlowError

# Connection, authorization (a password in rotation), deadlock and serialization, resources, locks,
# shutdown, the server's disk; 25006 is a standby that was promoted, or is about to be.
OUTAGES = ("08", "28", "40", "53", "55", "57", "58", "25006")

# A statement that took longer than statement_timeout.
TOO_SLOW = "57014"

# What may be wrong with the data of a statement: data and integrity; 54000 is a limit of the
# server, such as a row that is too wide.
DATA = ("22", "23", "54000")

# A table, a column or a function that is not there.
MISSING = ("42P01", "42703", "42883")

# What the rule decides of an event. A null in them is a message without a decision.
DECIDED = ("event_id", "aggregate_type", "aggregate_id", "event_type", "payload")

# In the context of an error, in whatever language: a name before its arguments.
FUNCTION = re.compile(r"(\w+)\(")


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

    What it is follows from its SQLSTATE alone. What is no outage is a refusal, whether the data is
    to blame or the database has changed.
    """
    try:
        yield
    except DBAPIError as error:
        cause: Any = error.orig
        sqlstate = cause.sqlstate or ""
        no_server_answered = isinstance(error, OperationalError) and not sqlstate
        what = f"database: {sqlstate or no_connection(cause)}"
        if sqlstate == TOO_SLOW:
            raise TooSlowError(what, sqlstate=sqlstate) from error
        if no_server_answered or sqlstate.startswith(OUTAGES):
            raise OutageError(what, sqlstate=sqlstate) from error
        if not sqlstate:
            raise
        if is_rule_defect(cause.diag):
            exit_with_error(
                "service/rule.sql: a message has not exactly one deciding event, or one that"
                " contract/events.py or the outbox's check of aggregate_type does not know:"
                f" {cause.diag.message_primary}"
            )
        raise make_refusal(cause.diag) from error


def no_connection(cause: Exception) -> str:
    """Return why no server answered, or why it did not let us in, in the client's own words."""
    first, *_ = [*str(cause).splitlines(), ""]
    why = first.rpartition("failed: ")[2]
    return f"no connection ({why})"


def is_rule_defect(diagnosis: Diagnostic) -> bool:
    """Return whether the outbox refused what no message can be blamed for: a kind of event."""
    is_of_outbox = diagnosis.table_name == "outbox"
    is_null = diagnosis.sqlstate == "23502" and diagnosis.column_name in DECIDED
    is_unknown_type = diagnosis.constraint_name == "outbox_aggregate_type_check"
    return is_of_outbox and (is_null or is_unknown_type)


def make_refusal(diagnosis: Diagnostic) -> RefusedError:
    """Return the refusal with the name of what refused; the names keep one cause from another."""
    code = diagnosis.sqlstate or ""
    function = FUNCTION.search(diagnosis.context or "")
    name = diagnosis.constraint_name or diagnosis.column_name or (function[1] if function else "")
    what = f"refused by the database: {code} {name}".rstrip()
    if code.startswith("42"):  # it says which object, and nothing of the data
        what = f"{what} ({diagnosis.message_primary})"
    return RefusedError(what, code, name)


@contextmanager
def exit_if_missing() -> Iterator[None]:
    """End the process if a table or a function is not there: at the start, the schema is older."""
    try:
        yield
    except RefusedError as refusal:
        if refusal.code not in MISSING:
            raise
        cause: Any = refusal.__cause__
        exit_with_error(
            f"database: {cause.orig.diag.message_primary}: run the migrations"
            " (python -m migrations upgrade)"
        )


@contextmanager
def wait_out_refusals() -> Iterator[None]:
    """Raise a refusal as an outage: there is no message here that could be to blame."""
    try:
        yield
    except RefusedError as refusal:
        raise OutageError(str(refusal), sqlstate=refusal.code) from refusal


def is_reachable(engine: Engine) -> bool:
    """Return whether the database answers; for readiness, so every error is a no."""
    with suppress(DBAPIError), engine.connect() as connection:
        return connection.scalar(text("select true")) is True
    return False
