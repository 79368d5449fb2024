"""python -m tests.e2e.aborting STEP [WITHOUT]: a service that one message aborts.

WITHOUT is a protection that it does without: `count` of tries, or `excuse` for an outage.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import RecordConsumer, do_nothing
from service.handler import Steps
from service.record import Item, Message, Record
from service.settings import Settings

FATAL = "fatal"  # at the end of a message id


def is_fatal(given: Record | Sequence[Item]) -> bool:
    """Return whether a step is given the message that ends the process."""
    if isinstance(given, Record):
        return any(name.endswith(FATAL.encode()) for name in given.header_values("message_id"))
    return any(isinstance(one, Message) and one.message_id.endswith(FATAL) for one in given)


def aborting(step: str, without: str) -> Callable[[Settings, Engine, RecordConsumer], Steps]:
    """Wire the real steps; one of them aborts the process with a certain message."""

    def wire_with_abort(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
        if without == "count":
            setattr(consumer, "counts_tries", lambda: False)  # noqa: B010 - mypy refuses the plain one
        if without == "excuse":
            setattr(consumer, "take_back_tries", do_nothing)  # noqa: B010
        real = wire(settings, engine, consumer)

        def write(given: Any) -> Any:
            if is_fatal(given):
                os.abort()
            return real.write(given)

        def read(record: Record) -> Item:
            # As where parsing aborts: the try is begun before that, and a fatal record not parsed.
            if consumer.counts_tries():
                consumer.begin_try()
            if is_fatal(record) and not consumer.is_fatal(record):
                os.abort()
            return real.read(record)

        change: dict[str, Any] = {"write": write} if step == "write" else {"read": read}
        return real._replace(**change)

    return wire_with_abort


if __name__ == "__main__":
    main(aborting(sys.argv[1], [*sys.argv, ""][2]))
