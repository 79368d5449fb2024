"""What may go wrong outside, in two kinds: an outage is waited out, a refusal never helps to repeat."""

import random
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import structlog
from sqlalchemy.exc import DBAPIError, OperationalError

from service import metrics

log = structlog.get_logger()
Given = ParamSpec("Given")
Result = TypeVar("Result")

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


class Patience:
    """Repeats a step until the outage is over; between attempts the consumer polls on, paused."""

    def __init__(self, idle: Callable[[float], None], first_seconds: float, cap_seconds: float) -> None:
        self.idle = idle
        self.first = first_seconds
        self.cap = cap_seconds

    def around(self, stage: str, step: Callable[Given, Result]) -> Callable[Given, Result]:
        """The same step, which now answers however long it takes, or is abandoned while it waits."""

        def patient(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            with metrics.STAGE_SECONDS.labels(stage).time():
                attempt = 0
                while True:
                    try:
                        return step(*args, **kwargs)
                    except OutageError as outage:
                        self.wait(stage, attempt, outage)
                        attempt += 1

        return patient

    def wait(self, stage: str, attempt: int, outage: OutageError) -> None:
        """Twice as long each time, up to a cap, with jitter; the other side's word counts, up to a minute."""
        longest = min(self.cap, self.first * 2 ** min(attempt, 16))
        delay = longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
        if outage.retry_after is not None:
            delay = min(outage.retry_after, 60.0)
        log.warning("outage", stage=stage, what=str(outage), attempt=attempt, wait_seconds=round(delay, 2))
        metrics.RETRIES.labels(stage).inc()
        self.idle(delay)
