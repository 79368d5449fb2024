"""The loop: gather a batch, handle it, and once more."""

import threading

import structlog

from service import metrics
from service.consumer import OrderConsumer
from service.handler import Steps, handle
from service.outage import AbandonedError

log = structlog.get_logger()


def run(consumer: OrderConsumer, steps: Steps, stopping: threading.Event) -> None:
    """Until asked to stop: the batch in work is finished, then the group is left."""
    try:
        while not stopping.is_set():
            records = consumer.gather()
            if not records:
                continue
            try:
                handle(records, steps)
            except AbandonedError as reason:
                metrics.ABANDONED.inc()
                log.warning("abandoned", records=len(records), reason=str(reason))
                consumer.rewind(records)
    finally:
        consumer.close()
    log.info("stopped")
