"""What may go wrong outside: an outage is waited out, a refusal is never worth repeating."""

import random
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast

import structlog

from service import metrics

log = structlog.get_logger()
Step = TypeVar("Step", bound=Callable[..., Any])

LONGEST_REQUESTED_WAIT_SECONDS = 60.0


class OutageError(Exception):
    """Something outside does not work at the moment; the same again later will."""

    def __init__(self, what: str, retry_after: float = 0, sqlstate: str | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after
        self.sqlstate = sqlstate


class RefusedError(Exception):
    """The content itself was refused, and always will be."""


class AbandonedError(Exception):
    """The batch is no longer ours, or we are asked to stop: it will be redelivered whole."""


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
