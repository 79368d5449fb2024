"""What became of a wave: counted for the metrics, and told in the log where somebody may want to know."""

from collections.abc import Sequence

import structlog

from service import metrics
from service.dead_letter import DeadLetter
from service.message import Message
from service.record import Record
from service.store import Answers, Handled

log = structlog.get_logger()


def report(
    messages: Sequence[Message], known: dict[str, Handled], letters: Sequence[DeadLetter], answers: Answers
) -> None:
    """Once for each wave, after everything in it is safe; added up first, because a counter's lock costs."""
    first = [message for message in messages if known[message.message_id].first]
    rejected = [message for message in first if not known[message.message_id].fulfilled]
    refused = {message_id: error for message_id, error in answers.items() if error}
    metrics.DUPLICATES.inc(len(messages) - len(first))
    metrics.FULFILLED.inc(len(first) - len(rejected))
    metrics.REJECTED.inc(len(rejected))
    metrics.AUDITED.inc(len(answers) - len(refused))
    metrics.AUDIT_ERRORS.inc(len(refused))
    for message in rejected:
        ids = {"message_id": message.message_id, "order_id": message.order["order_id"]}
        log.info("rejected", **ids, **place(message.record))
    for letter in letters:
        metrics.DEAD_LETTERS.labels(letter.kind).inc()
        log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **place(letter.record))
    for message_id, error in refused.items():
        log.error("audit_refused", message_id=message_id, reason=error)


def place(record: Record) -> dict[str, str | int]:
    """Where a record lies, under the names that every log line uses."""
    return {"topic": record.topic, "partition": record.partition, "offset": record.offset}
