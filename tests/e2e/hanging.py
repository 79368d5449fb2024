"""python -m tests.e2e.hanging bounded | unbounded: a service whose client hangs when it leaves.

As librdkafka did during a rebalance: the call never returns, and it holds the interpreter's lock.
"""

import ctypes
import sys

from sqlalchemy import Engine

from service import stop
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.settings import Settings


def hanging(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, with a client that hangs in close()."""
    libc = ctypes.PyDLL(None)  # keeps the lock while it calls, as CDLL does not

    def leave() -> None:
        libc.sleep(60)

    consumer.leave = leave  # type: ignore[method-assign]
    return wire(settings, engine, consumer)


if __name__ == "__main__":
    if sys.argv[1] == "unbounded":
        stop.Stop.end_within = lambda *_: None  # type: ignore[method-assign]
    main(hanging)
