"""What may go wrong outside, in two kinds: an outage is waited out, a refusal never helps to repeat."""

import random
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast

import structlog

from service import metrics

log = structlog.get_logger()
Step = TypeVar("Step", bound=Callable[..., Any])


class OutageError(Exception):
    """Something outside does not work just now; the same again later will."""

    def __init__(self, what: str, retry_after: float = 0, sqlstate: str | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after
        self.sqlstate = sqlstate


class RefusedError(Exception):
    """The very content was refused, and always will be."""


class AbandonedError(Exception):
    """The batch is not ours any more, or we are asked to stop: it will be redelivered whole."""


class Retry(NamedTuple):
    """Repeats a step until the outage is over; between attempts the consumer polls on, paused."""

    idle: Callable[[float], None]
    first_seconds: float
    cap_seconds: float

    def wrap(self, stage: str, step: Step) -> Step:
        """The same step, which now answers however long it takes, or is abandoned while it waits."""

        def patient(*args: Any, **kwargs: Any) -> Any:  # noqa: RET503 - without an answer it goes on
            with metrics.STAGE_SECONDS.labels(stage).time():
                for attempt in count():
                    try:
                        return step(*args, **kwargs)
                    except OutageError as outage:
                        self.wait(stage, attempt, outage)

        return cast("Step", patient)

    def wait(self, stage: str, attempt: int, outage: OutageError) -> None:
        """Twice as long each time, up to a cap, with jitter; the other side's word counts, up to a minute."""
        longest = min(self.cap_seconds, self.first_seconds * 2 ** min(attempt, 16))
        delay = max(longest * random.uniform(0.5, 1.0), min(outage.retry_after, 60.0))  # noqa: S311 - no secret
        log.warning(
            "outage", stage=stage, what=str(outage), attempt=attempt, wait_seconds=round(delay, 2)
        )
        metrics.RETRIES.labels(stage).inc()
        self.idle(delay)
