"""What watches the consumer, in a thread: it may wait for a server that hangs, or for nobody."""

import threading
import time
from functools import partial

from access.kafka_admin import Admin
from service.consumer import RecordConsumer
from service.membership import Membership, find_members, start_anew_if_out
from service.progress import find_ends, log_change

LOOK_SECONDS = 2.0


def keep_watching(consumer: RecordConsumer) -> None:
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
            start_anew_if_out(membership, settings.group_id, settings.rejoin_seconds)
            time.sleep(LOOK_SECONDS)

    threading.Thread(target=watch, name="watch", daemon=True).start()
