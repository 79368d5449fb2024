"""What may go wrong outside, in two kinds: an outage is waited out, a refusal never helps to repeat."""

from sqlalchemy.exc import DBAPIError, OperationalError

# Connection, authorization (a password in rotation), deadlock and serialization, resources, locks,
# shutdown, the server's disk; 25006 is a standby that was promoted, or is about to be.
OUTAGE_CLASSES = {"08", "28", "40", "53", "55", "57", "58"}
# Data and integrity; 54000 is a limit of the server, such as a row that is too wide.
REFUSAL_CLASSES = {"22", "23"}


class OutageError(Exception):
    """Something outside does not work just now; the same again later will."""

    def __init__(self, what: str, retry_after: float | None = None, sqlstate: str | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after
        self.sqlstate = sqlstate


class RefusedError(Exception):
    """The very content was refused, and always will be."""


class AbandonedError(Exception):
    """The batch is not ours any more, or we are asked to stop: it will be redelivered whole."""


def sort_out(error: DBAPIError) -> Exception:
    """Which of the two a database error is, by its SQLSTATE and never by its text."""
    sqlstate: str | None = getattr(error.orig, "sqlstate", None)
    if sqlstate is None:  # the driver's own error: no connection, or a value that it cannot send
        return OutageError("database: no connection") if isinstance(error, OperationalError) else error
    if sqlstate[:2] in OUTAGE_CLASSES or sqlstate == "25006":
        return OutageError(f"database: {sqlstate}", sqlstate=sqlstate)
    if sqlstate[:2] in REFUSAL_CLASSES or sqlstate == "54000":
        constraint = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
        return RefusedError(f"refused by the database: {sqlstate} {constraint or ''}".strip())
    return error
