"""python -m tests.e2e.faulty_client MODE: a service whose client fails as librdkafka does.

bounded, unbounded: it hangs when it leaves, as in a rebalance; the call never returns, and it holds
the interpreter's lock.

watched, unwatched: it falls out of its group, once, after its first batch, and says nothing of it,
as when a broker has told it that there are no brokers.
"""

import ctypes
import os
import sys

from sqlalchemy import Engine

from service import stop
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.record import Record
from service.settings import Settings
from service.watch import Membership

HAPPENED = "HAS_GONE_ASTRAY"


def hanging(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, with a client that hangs in close()."""
    libc = ctypes.PyDLL(None)  # keeps the lock while it calls, as CDLL does not

    def leave() -> None:
        libc.sleep(60)

    consumer.leave = leave  # type: ignore[method-assign]
    return wire(settings, engine, consumer)


def astray(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, with a client that leaves the group behind our back."""
    gather = consumer.gather

    def leave_after_a_batch() -> list[Record]:
        records = gather()
        has_handled = not records and any(consumer.progress.handled.values())
        if has_handled and HAPPENED not in os.environ:
            os.environ[HAPPENED] = "yes"  # for the process that starts anew
            consumer.consumer.unsubscribe()
        return records

    consumer.gather = leave_after_a_batch  # type: ignore[method-assign]
    return wire(settings, engine, consumer)


if __name__ == "__main__":
    mode = sys.argv[1]
    if mode == "unbounded":
        stop.Stop.end_within = lambda *_: None  # type: ignore[method-assign]
    if mode == "unwatched":
        Membership.may_be_in = lambda self: True  # type: ignore[method-assign]  # noqa: ARG005
    main(hanging if mode in {"bounded", "unbounded"} else astray)
