"""The story of a batch: read this first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from extras.dynamodb.outbox import metrics
from extras.dynamodb.outbox.transaction import Outcome
from service.record import Record

log = structlog.get_logger()

EXPECTED = ("tallied", "repeat")  # of nearly all: not logged


class Steps(NamedTuple):
    """What a batch does to the world. Each step may be repeated; none happens in part."""

    # The records are of the topic that we read, and where the group begins is committed.
    confirm: Callable[[], None]
    # One transaction of DynamoDB for each record.
    write: Callable[[Record], Outcome]
    # Shows the group that we are alive, if it has not seen us for a while.
    poll: Callable[[], None]
    # The offsets: from here on Kafka forgets the batch.
    commit: Callable[[Sequence[Record]], None]


def handle(records: Sequence[Record], steps: Steps) -> None:
    """Take a batch through every step; killed anywhere, it comes again and changes nothing more."""
    steps.confirm()
    for record in records:
        outcome = steps.write(record)
        report(record, outcome)
        steps.poll()
    steps.commit(records)


def report(record: Record, outcome: Outcome) -> None:
    """Count what has become of a record, and log what becomes of few."""
    metrics.MESSAGES.labels(outcome).inc()
    if outcome not in EXPECTED:
        log.warning(outcome, **record.place)
