"""How the steps that concern the audit receiver are put together, with the settings' numbers."""

import time
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import NamedTuple, Protocol

from sqlalchemy import Engine

from access.audit import AuditAccess
from service.handler import nothing_to_repeat
from service.mark import Gate, Patience, claim_due, mark
from service.outage import MOMENT, Retry
from service.post import Answers, AuditItem, Entry, post_all, post_batch, post_entries, post_single
from service.record import Record
from service.refusals import Cause, Limits, may_give_up
from service.repeat import Repeat
from service.request import connect
from service.settings import Settings

POLL_AFTER_SECONDS = 5


class Group(Protocol):
    """What the consumer is to a step of many requests."""

    last_poll: float
    waits_for: str  # /readyz shows it

    def idle(self, seconds: float) -> None:
        """Wait, but keep polling; raise if the batch is lost."""


class AuditSteps(NamedTuple):
    """Steps of service/handler.py."""

    post: Callable[[Sequence[Entry]], Answers]
    mark: Callable[[Answers], Set[str]]
    repeat: Callable[[], None]


def make_audit_steps(settings: Settings, engine: Engine, group: Group, retry: Retry) -> AuditSteps:
    """Return the steps of a batch, which wait until an outage is over, and the one between two."""
    if settings.audit_mode == "none":
        return AuditSteps(post=answer_all, mark=dict.keys, repeat=nothing_to_repeat)
    subscriber = settings.subscriber
    limits = Limits(settings.refusal_limit, settings.refusal_window_seconds)
    patience = Patience(settings.audit_patience_seconds, settings.audit_repeat_seconds)
    receiver = connect(AuditAccess(audit_url=settings.audit_url), settings.audit_timeout_seconds)
    is_single = settings.audit_mode == "single"
    request = partial(post_single if is_single else post_batch, receiver)
    ask = partial(may_give_up, engine, subscriber, limits)

    def keep_polling() -> None:
        silence = time.monotonic() - group.last_poll
        if silence > POLL_AFTER_SECONDS:
            group.idle(MOMENT)

    def ask_patiently(cause: Cause, record: Record) -> bool:
        keep_polling()
        return bool(retry.wrap("refusal", ask)(cause, record))

    def tell(sentence: str) -> None:
        group.waits_for = sentence

    def claim() -> list[AuditItem]:
        keep_polling()
        return claim_due(engine, subscriber, patience)

    post = partial(
        post_all,
        at_once=1 if is_single else settings.batch_records,
        may_fail=limits.records,
        keep_polling=keep_polling,
    )
    note = partial(mark, engine, subscriber, patience)
    patient_post = partial(post, post=retry.wrap("post", request))
    patient_gate = Gate(ask_patiently, tell)
    repeat = Repeat(
        claim=claim,
        post=partial(post, post=request),
        mark=partial(note, Gate(ask, ignore)),
        seconds=patience.repeat_seconds,
    )
    return AuditSteps(
        post=partial(post_entries, patient_post, subscriber, is_traced=settings.audit_trace),
        mark=retry.wrap("mark", partial(note, patient_gate)),
        repeat=repeat,
    )


def answer_all(entries: Sequence[Entry]) -> Answers:
    """Post nothing, and wait for nobody."""
    return {entry.message.message_id: None for entry in entries}


def ignore(_sentence: str) -> None:
    """Do nothing: between two batches nothing waits."""
