"""What the audit receiver has answered: taken, not yet, or refused for good."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog
from pydantic_core import to_json
from sqlalchemy import Engine, Row, text

from contract.trace import Trace
from service import metrics
from service.database import classify_errors, wait_out_refusals
from service.post import Answers, AuditItem, Failure, derive_key, trace_headers
from service.record import Record
from service.refusals import Cause

log = structlog.get_logger()

DUE_AT_ONCE = 100  # entries that are sent again in one request, between two batches

# Once the receiver has answered, a redelivery need not ask it again. An entry that it has not taken
# is kept with its body: it fails since its first failure, and when it has done so for too long it
# is refused for good.
MARK = text("""
    with answer as materialized (
        select *
        from json_to_recordset(cast(:answers as json)) as answer (
            message_id text,
            topic text,
            partition int,
            "offset" bigint,
            body json,
            traceparent text,
            tracestate text,
            is_taken bool,
            is_refused bool,
            reason text
        )
    ),

    failed as (
        insert into audit_failure as known (
            subscriber,
            message_id,
            topic,
            partition,
            "offset",
            body,
            traceparent,
            tracestate,
            reason,
            retry_at
        )
        select
            :subscriber,
            message_id,
            topic,
            partition,
            "offset",
            body,
            traceparent,
            tracestate,
            reason,
            case when not is_refused then now() + make_interval(secs => :repeat_seconds) end
        from answer
        where not is_taken
        order by message_id
        on conflict (subscriber, message_id) do update
        set
            reason = excluded.reason,
            retry_at = case
                when known.failing_since > now() - make_interval(secs => :patience_seconds)
                    then excluded.retry_at
            end
        returning message_id, reason, retry_at is null as is_refused
    ),

    taken as (
        delete from audit_failure
        using answer
        where audit_failure.subscriber = :subscriber
            and audit_failure.message_id = answer.message_id
            and answer.is_taken
    ),

    marked as (
        update tracking
        set
            audited_at = case when answer.is_taken then now() end,
            audit_error = failed.reason
        from answer
        left join failed using (message_id)
        where tracking.subscriber = :subscriber
            and tracking.message_id = answer.message_id
            and (answer.is_taken or failed.is_refused)
    )

    select message_id, reason, is_refused
    from failed
""")

# Whose turn it is: two workers do not ask for the same entry at the same time.
CLAIM_DUE = text("""
    update audit_failure
    set retry_at = now() + make_interval(secs => :repeat_seconds)
    where ctid = any(array(
        select ctid
        from audit_failure
        where subscriber = :subscriber and retry_at <= now()
        order by retry_at
        limit :limit
        for update skip locked
    ))
    returning message_id, topic, partition, "offset", body, traceparent, tracestate
""")


class Patience(NamedTuple):
    """How long an entry that alone is not taken is asked for again, and how often."""

    seconds: float
    repeat_seconds: float


@dataclass
class Gate:
    """Decides which failures may be noted: the entries of the others have to wait."""

    may_give_up: Callable[[Cause, Record], bool]  # the rule of ten
    tell: Callable[[str], None]  # what is waited for, or nothing

    def list_waiting(self, failures: Sequence[Failure]) -> Set[str]:
        """Return the message ids of those that may not be noted: too many have the same cause."""
        waiting = set()
        shut = set[Cause]()
        for failure in failures:
            item = failure.item
            cause = failure.cause
            if cause not in shut and self.may_give_up(cause, item.record):
                continue
            shut.add(cause)
            waiting.add(item.message_id)
        sentences = []
        for cause in shut:
            metrics.REFUSALS.labels(*cause, "waits").inc()
            sentences.append(explain(cause))
        self.tell(" ".join(sentences))
        return waiting


def explain(cause: Cause) -> str:
    """Return the sentence about a cause that has refused too many entries."""
    return (
        f"the audit receiver has answered {cause} to too many entries: remove the cause,"
        f" or run pipeline dead-letters allow {cause}"
    )


def mark(
    engine: Engine, subscriber: str, patience: Patience, gate: Gate, answers: Answers
) -> Set[str]:
    """Note the answers in one statement and one commit; return the message ids that are settled."""
    failures = [failure for failure in answers.values() if failure]
    waiting = gate.list_waiting(failures)
    settled = answers.keys() - waiting
    rows = [make_row(message_id, answers[message_id]) for message_id in settled]
    parameters = {
        "subscriber": subscriber,
        "answers": to_json(rows).decode(),
        "patience_seconds": patience.seconds,
        "repeat_seconds": patience.repeat_seconds,
    }
    with wait_out_refusals(), classify_errors(), engine.connect() as connection:
        failed = connection.execute(MARK, parameters).all()
    report(failed, taken=len(settled) - len(failed))
    return settled


def make_row(message_id: str, failure: Failure | None) -> dict[str, Any]:
    """Return what is stored of an answer."""
    if failure is None:
        return {"message_id": message_id, "is_taken": True}
    item = failure.item
    return {
        "message_id": message_id,
        **item.record.place,
        **trace_headers(item.trace),
        "body": item.body,
        "is_taken": False,
        "is_refused": failure.is_refused,
        "reason": failure.reason,
    }


def report(failed: Sequence[Row[Any]], taken: int) -> None:
    """Count the answers, and log those that say no."""
    # Exposed from the first batch on: an alert cannot see what was absent rise.
    counts = {"audited": taken, "audit_refused": 0, "audit_put_aside": 0}
    for row in failed:
        outcome = "audit_refused" if row.is_refused else "audit_put_aside"
        counts[outcome] += 1
        write_log = log.error if row.is_refused else log.warning
        write_log(outcome, message_id=row.message_id, reason=row.reason)
    for outcome, count in counts.items():
        metrics.MESSAGES.labels(outcome).inc(count)


def claim_due(
    engine: Engine, subscriber: str, patience: Patience, limit: int = DUE_AT_ONCE
) -> list[AuditItem]:
    """Return the entries whose turn it is to be asked for again, as they were sent first."""
    parameters = {
        "subscriber": subscriber,
        "repeat_seconds": patience.repeat_seconds,
        "limit": limit,
    }
    with wait_out_refusals(), classify_errors(), engine.connect() as connection:
        due = connection.execute(CLAIM_DUE, parameters).all()
    return [read_item(row, subscriber) for row in due]


def read_item(row: Row[Any], subscriber: str) -> AuditItem:
    """Return an entry as it was sent first; of its record only the place is kept."""
    record = Record(row.topic, row.partition, row.offset, None, None, [])
    key = derive_key(row.message_id, subscriber)
    has_trace = row.traceparent is not None
    trace = Trace(row.traceparent, row.tracestate or "") if has_trace else None
    return AuditItem(row.message_id, key, row.body, record, trace)
