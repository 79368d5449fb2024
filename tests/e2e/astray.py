"""python -m tests.e2e.astray watched | unwatched: a service whose client falls out of its group.

It does once, after its first batch, and says nothing of it: as librdkafka does when a broker has
told it that there are no brokers. The process that starts anew does not.
"""

import os
import sys

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.membership import Membership
from service.record import Record
from service.settings import Settings

HAPPENED = "HAS_GONE_ASTRAY"


def astray(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, with a client that leaves the group behind our back."""
    gather = consumer.gather

    def leave_after_a_batch() -> list[Record]:
        records = gather()
        has_handled = not records and any(consumer.progress.handled.values())
        if has_handled and HAPPENED not in os.environ:
            os.environ[HAPPENED] = "yes"
            consumer.consumer.unsubscribe()
        return records

    consumer.gather = leave_after_a_batch  # type: ignore[method-assign]
    return wire(settings, engine, consumer)


if __name__ == "__main__":
    if sys.argv[1] == "unwatched":
        Membership.may_be_in = lambda self: True  # type: ignore[method-assign]  # noqa: ARG005
    main(astray)
