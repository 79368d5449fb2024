"""What watches the consumer, in a thread: it may wait for a server that hangs, or for nobody."""

import threading
import time
from collections.abc import Callable
from functools import partial

import structlog

from access.kafka_admin import Admin
from service.consumer import RecordConsumer
from service.membership import Membership, find_members
from service.progress import find_ends, log_change
from service.stop import start_anew

log = structlog.get_logger()

LOOK_SECONDS = 2.0
OUT = (
    "group {group} has not had this process as a member for {seconds:.0f} s, although its broker"
    " answers: the client would not come back by itself"
)


def keep_watching(consumer: RecordConsumer, start_anew: Callable[[], None] = start_anew) -> None:
    """Measure the lag until the process ends, and log when a partition gets stuck.

    Where the group has lost us, the process starts anew.
    """
    settings = consumer.settings
    admin = Admin(settings.kafka_bootstrap_servers)
    membership = Membership(
        consumer.find_our_id, partial(admin.ask, partial(find_members, group=settings.group_id))
    )

    def find(numbers: list[int]) -> dict[int, int]:
        return admin.ask(partial(find_ends, topic=consumer.topic, numbers=numbers))

    def watch() -> None:
        is_stuck = False
        while True:
            consumer.progress.measure(find)
            stuck = consumer.progress.stuck(consumer.topic, settings.stuck_seconds)
            is_stuck = log_change(is_stuck, stuck)
            seconds = membership.seconds_out()
            if seconds > settings.rejoin_seconds:
                log.error("out_of_group", what=OUT.format(group=settings.group_id, seconds=seconds))
                start_anew()
            time.sleep(LOOK_SECONDS)

    threading.Thread(target=watch, name="watch", daemon=True).start()
