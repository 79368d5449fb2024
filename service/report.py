"""What became of a wave: counted for the metrics, and told in the log where somebody may want to know."""

from collections.abc import Sequence

import structlog

from service import metrics
from service.dead_letter import DeadLetter
from service.message import Message
from service.post import Answers
from service.store import Handled, Item

log = structlog.get_logger()


def report(
    wave: Sequence[Item],
    known: dict[str, Handled],
    handled: Sequence[Message],
    conflicts: Sequence[DeadLetter],
    answers: Answers,
) -> None:
    """Once for each wave, after everything in it is safe."""
    refused = [i for i in wave if isinstance(i, Message) and i.message_id not in known]
    buried = [DeadLetter(message.record, "invalid", "refused by the database") for message in refused]
    for letter in [*(i for i in wave if isinstance(i, DeadLetter)), *conflicts, *buried]:
        metrics.DEAD_LETTERS.labels(letter.kind).inc()
        log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **place(letter))
    count(handled, known)
    for message_id, error in answers.items():
        (metrics.AUDIT_ERRORS if error else metrics.AUDITED).inc()
        if error:
            log.error("audit_refused", message_id=message_id, reason=error)


def count(messages: Sequence[Message], known: dict[str, Handled]) -> None:
    """The messages of a wave by what became of them: added up first, a counter's lock costs more."""
    first = [m for m in messages if known[m.message_id].first]
    rejected = [m for m in first if known[m.message_id].outcome == "rejected"]
    metrics.DUPLICATES.inc(len(messages) - len(first))
    metrics.FULFILLED.inc(len(first) - len(rejected))
    metrics.REJECTED.inc(len(rejected))
    for message in rejected:
        order_id = message.order["order_id"]
        log.info("rejected", message_id=message.message_id, order_id=order_id, **place(message))


def place(item: Item) -> dict[str, str | int]:
    """Where the record lies, under the names that every log line uses."""
    return {"topic": item.record.topic, "partition": item.record.partition, "offset": item.record.offset}
