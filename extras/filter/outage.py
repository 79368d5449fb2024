"""Wait until the broker answers, or until the process is asked to stop."""

from collections.abc import Callable
from typing import TypeVar

import structlog
from confluent_kafka import KafkaException

from service.outage import AbandonedError, OutageError
from service.stop import Stop

log = structlog.get_logger()
Answer = TypeVar("Answer")


def passes(_failure: Exception) -> bool:
    """Return that an error may be over later."""
    return True


def wait_out(
    step: Callable[[], Answer],
    stage: str,
    stop: Stop,
    seconds: float,
    may_pass: Callable[[Exception], bool] = passes,
) -> Answer:
    """Repeat a step until it answers, with a pause between two attempts."""
    while True:
        try:
            return step()
        except (KafkaException, OutageError) as failure:
            if not may_pass(failure):
                raise
            log.warning("outage", stage=stage, what=str(failure))
        if stop.asked.wait(seconds):
            raise AbandonedError("stopping")
