"""What the service counts, under Prometheus names, and what it tells in the log of a batch."""

from collections.abc import Sequence

import structlog
from prometheus_client import Counter, Gauge, Histogram

from service.dead_letter import DeadLetter
from service.message import Message
from service.store import Answers, Handled

log = structlog.get_logger()

SIZES = (1, 5, 10, 50, 100, 200, 300, 400, 500, 1000)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)

BATCH_RECORDS = Histogram("batch_records", "Records in a batch", buckets=SIZES)
STAGE_SECONDS = Histogram("stage_seconds", "How long a stage took, outages included", ["stage"], buckets=SECONDS)
FULFILLED = Counter("fulfilled_messages", "Messages that became a fulfillment")
REJECTED = Counter("rejected_messages", "Messages for an order that was already fulfilled")
DUPLICATES = Counter("duplicate_messages", "Messages that had been handled before, removed")
DEAD_LETTERS = Counter("dead_letters", "Records that are no message", ["kind"])
AUDITED = Counter("audited_messages", "Audit entries that the receiver accepted")
AUDIT_ERRORS = Counter("audit_errors", "Audit entries that the receiver refused for good: look at each one")
RETRIES = Counter("retries", "Attempts repeated because of an outage", ["stage"])
ABANDONED = Counter("abandoned_batches", "Batches given up because of a rebalance or a stop")
LAG = Gauge("lag_records", "Records not yet handled", ["partition"])


def report(
    messages: Sequence[Message], known: dict[str, Handled], letters: Sequence[DeadLetter], answers: Answers
) -> None:
    """Once for each wave, after everything in it is safe; added up first, because a counter's lock costs."""
    first = [message for message in messages if known[message.message_id].first]
    rejected = [message for message in first if not known[message.message_id].fulfilled]
    refused = {message_id: error for message_id, error in answers.items() if error}
    DUPLICATES.inc(len(messages) - len(first))
    FULFILLED.inc(len(first) - len(rejected))
    REJECTED.inc(len(rejected))
    AUDITED.inc(len(answers) - len(refused))
    AUDIT_ERRORS.inc(len(refused))
    for message in rejected:
        order_id = message.order["order_id"]
        log.info("rejected", message_id=message.message_id, order_id=order_id, **message.record.place)
    for letter in letters:
        DEAD_LETTERS.labels(letter.kind).inc()
        log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **letter.record.place)
    for message_id, error in refused.items():
        log.error("audit_refused", message_id=message_id, reason=error)
