"""Whose fault a refusal is: the message's only if good ones pass now, and few are refused alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

import structlog

from contract.events import ACCEPTED
from contract.names import INPUT_TOPIC
from contract.order import Order
from contract.samples import GOOD, to_json
from service import metrics
from service.dedup import Handled
from service.outage import MOMENT, RefusedError
from service.record import DeadLetter, Item, Message, Record, understand
from service.refusals import Cause

log = structlog.get_logger()

LAST_SEQUENCE = 10**18 - 1  # above every other: a store that expects numbers takes it for fresh


def make_sample() -> Message:
    """Return the good message of the contract."""
    headers: list[tuple[str, bytes | None]] = [("message_id", b"sample"), ("sequence", b"0")]
    return understand(Record(INPUT_TOPIC, 0, 0, b"sample", to_json(GOOD), headers))


class Waiting(Protocol):
    """What the consumer is to the judge."""

    waits_for: str  # /readyz shows it

    def idle(self, seconds: float) -> None:
        """Wait, but keep polling; raise if the batch is lost."""


@dataclass
class Judge:
    """Decides about one refused message after the other, at most one for each probe."""

    try_out: Callable[[Sequence[Item]], object]  # the write of a batch, taken back
    may_give_up: Callable[[Cause, Record], bool]  # the rule of ten
    consumer: Waiting
    probe_seconds: float
    good: Message = field(default_factory=make_sample)  # one that passed lately
    next_probe: float = 0
    suspect: Record | None = None  # since its refusal, a probe has passed

    def remember(self, items: Sequence[Item], known: Mapping[str, Handled]) -> None:
        """Keep a message that has just been accepted: the next probe is made of it."""
        for item in reversed(items):
            if isinstance(item, DeadLetter):
                continue
            handled = known.get(item.message_id)
            if handled and handled.first and handled.outcome == ACCEPTED:
                self.good = item
                return

    def is_to_blame(self, item: Item, refusal: RefusedError) -> bool:
        """Return whether to bury a refused message; if not, it is to be repeated.

        To blame is who is refused before and after a probe that passes: after the first refusal the
        database may have been mended.
        """
        is_refused_again = self.suspect is item.record
        self.suspect = None
        cause = Cause("database", refusal.code, refusal.name)
        if is_refused_again:
            excuse = self.count(item, cause)
        else:
            excuse = self.probe(item)
            if not excuse:
                self.suspect = item.record
                self.consumer.idle(MOMENT)
                return False
        verdict = "waits" if excuse else "buried"
        metrics.REFUSALS.labels(*cause, verdict).inc()
        log.error("refused", **cause._asdict(), verdict=verdict, why=excuse, **item.record.place)
        self.consumer.waits_for = f"{refusal}: {excuse}" if excuse else ""
        if excuse:
            self.consumer.idle(self.probe_seconds)
        return not excuse

    def probe(self, item: Item) -> str:
        """Return why the message is not to blame, or nothing if good ones pass now."""
        if isinstance(item, DeadLetter):
            return "a dead letter fits its table whatever is in it"
        seconds_left = self.next_probe - time.monotonic()
        self.consumer.idle(max(seconds_left, MOMENT))
        self.next_probe = time.monotonic() + self.probe_seconds
        try:
            self.try_out([with_fresh_ids(self.good)])
        except RefusedError as refusal:
            return f"a good message is refused too ({refusal})"
        return ""

    def count(self, item: Item, cause: Cause) -> str:
        """Return why the message waits, or nothing if it may be buried."""
        if self.may_give_up(cause, item.record):
            return ""
        return (
            f"{cause} has refused too many records: remove the cause,"
            f" or run pipeline dead-letters allow {cause}"
        )


def with_fresh_ids(message: Message) -> Message:
    """Return the message as one that nobody has seen."""
    fresh_id = f"probe-{uuid4()}"
    sequence = None if message.sequence is None else LAST_SEQUENCE
    order: Order = {**message.order, "order_id": fresh_id}
    return message._replace(message_id=fresh_id, order=order, sequence=sequence)
