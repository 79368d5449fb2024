"""python -m extras.filter.tests.e2e.untransacted doubles | loses N: no transactions.

Controls: it dies in its Nth batch with new numbers, between the records and what it remembers of
them. With the records first, they are doubled; with the mark and the offsets first, they are lost.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from confluent_kafka import Producer

from extras.filter import crossing
from extras.filter.__main__ import main
from extras.filter.crossing import Crossing, next_offsets
from extras.filter.decide import Decision, decide
from service.record import Record

KIND, BATCH = sys.argv[1], int(sys.argv[2])
BATCHES = count(1)


def take_across(self: Crossing, records: Sequence[Record]) -> None:
    """Do one half of a batch, then the other."""
    decision = decide(records, self.marks, self.read)
    is_last = bool(decision.passed) and next(BATCHES) == BATCH
    halves: list[Callable[[], None]] = [
        lambda: send(self, decision),
        lambda: remember(self, decision, records),
    ]
    if KIND == "loses":
        halves.reverse()
    for half in halves:
        half()
        self.producer.flush()
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
    self.marks.update(decision.marks())


def send(self: Crossing, decision: Decision) -> None:
    """Send the records alone."""
    self.produce(decision._replace(raised={}))


def remember(self: Crossing, decision: Decision, records: Sequence[Record]) -> None:
    """Note the marks and the offsets."""
    for raised in decision.raised.values():
        self.raise_mark(raised)
    self.consumer.commit(offsets=next_offsets(records), asynchronous=False)


class Plain(Producer):
    """A producer that knows no transactions."""

    def __init__(self, settings: dict[str, Any]) -> None:
        plain = {name: value for name, value in settings.items() if "transaction" not in name}
        super().__init__(plain)

    def init_transactions(self, *_: Any) -> None:
        """Do nothing."""


if __name__ == "__main__":
    crossing.Crossing.take_across = take_across  # type: ignore[method-assign]
    main(Plain)
