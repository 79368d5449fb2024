"""What may go wrong outside: an outage is waited out, a refusal is never worth repeating."""

import random
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast

import structlog

from service import metrics

log = structlog.get_logger()
Step = TypeVar("Step", bound=Callable[..., Any])
Part = TypeVar("Part")
Known = TypeVar("Known")

LONGEST_REQUESTED_WAIT_SECONDS = 60.0
MOMENT = 0.001  # long enough to poll once
LARGEST_PIECE = 1024  # no batch has more


class OutageError(Exception):
    """Something outside does not work at the moment; the same again later will."""

    def __init__(self, what: str, retry_after: float = 0, sqlstate: str | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after
        self.sqlstate = sqlstate


class TooSlowError(OutageError):
    """The database did not finish in time; less of it may pass."""


class RefusedError(Exception):
    """The other side does not take this: the content is wrong, or the other side is."""

    def __init__(self, what: str, code: str = "", name: str = "") -> None:
        super().__init__(what)
        self.code = code  # a SQLSTATE, or a status
        self.name = name  # the constraint, column or function that refused, if one is named


class AbandonedError(Exception):
    """The batch is no longer ours, or we are asked to stop: it will be redelivered whole."""


def in_pieces(
    step: Callable[[Sequence[Part]], dict[str, Known]], poll: Callable[[], None]
) -> Callable[[Sequence[Part]], dict[str, Known]]:
    """Return the step in pieces that become smaller while the database does not finish in time.

    With each batch they may be twice as large again.
    """
    largest = LARGEST_PIECE

    def take_pieces(parts: Sequence[Part]) -> dict[str, Known]:
        nonlocal largest
        largest = min(2 * largest, LARGEST_PIECE)
        known: dict[str, Known] = {}
        rest = parts
        while rest:
            piece = rest[:largest]
            try:
                known |= step(piece)
            except TooSlowError:
                if len(piece) == 1:
                    raise
                largest = len(piece) // 2
                log.warning("too_slow", parts=len(piece), next=largest)
            else:
                rest = rest[len(piece) :]
            if rest:
                poll()
        return known

    return take_pieces


class Retry(NamedTuple):
    """Repeats a step until the outage is over; between two attempts the consumer keeps polling."""

    idle: Callable[[float], None]
    first_seconds: float
    cap_seconds: float

    def wrap(self, stage: str, step: Step) -> Step:
        """Return a step that answers however long an outage takes, unless it is abandoned."""

        def repeat(*args: Any, **kwargs: Any) -> Any:  # noqa: RET503 - it repeats until it answers
            with metrics.STAGE_SECONDS.labels(stage).time():
                for attempt in count():
                    try:
                        return step(*args, **kwargs)
                    except OutageError as outage:
                        self.wait(stage, attempt, outage)

        return cast("Step", repeat)

    def wait(self, stage: str, attempt: int, outage: OutageError) -> None:
        """Wait twice as long each time, up to a cap, with jitter; longer if the other side asks."""
        doubled = self.first_seconds * 2 ** min(attempt, 16)
        own_delay = min(self.cap_seconds, doubled) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        requested_delay = min(outage.retry_after, LONGEST_REQUESTED_WAIT_SECONDS)
        delay = max(own_delay, requested_delay)
        log.warning(
            "outage",
            stage=stage,
            what=str(outage),
            attempt=attempt,
            wait_seconds=round(delay, 2),
        )
        metrics.RETRIES.labels(stage).inc()
        self.idle(delay)
