"""What watches the consumer, in a thread: it may wait for a server that hangs, or for nobody.

A client may fall out of its group, and neither come back nor say so. A broker that is about to go
can say for a moment that there are no brokers. librdkafka believes it, and may then never look for
one again (its issue 5301): no error, no partition, until the process ends. So somebody else has to
ask.
"""

import threading
import time
from collections.abc import Callable
from functools import partial

import structlog
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka_admin import Admin
from service.consumer import RecordConsumer
from service.progress import find_ends, log_change
from service.stop import start_anew

log = structlog.get_logger()

LOOK_SECONDS = 2.0
ANSWER_SECONDS = 3.0
OUT = (
    "group {group} has not had this process as a member for {seconds:.0f} s, although its broker"
    " answers: the client would not come back by itself"
)


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


class Membership:
    """For how long the group has not had us, although its broker answers."""

    def __init__(
        self, find_our_id: Callable[[], str | None], find_members: Callable[[], set[str]]
    ) -> None:
        self.find_our_id = find_our_id  # None: there is nothing to look for
        self.find_members = find_members
        self.out_since = time.monotonic()

    def seconds_out(self) -> float:
        """Look once more; return for how long every look has shown that we are out."""
        now = time.monotonic()
        if self.may_be_in():
            self.out_since = now
        return now - self.out_since

    def may_be_in(self) -> bool:
        """Return whether the group has us, or nobody can say."""
        our_id = self.find_our_id()
        if our_id is None:
            return True
        try:
            return our_id in self.find_members()
        except KafkaException:
            return True


def find_members(admin: AdminClient, group: str) -> set[str]:
    """Return the ids of a group's members; a group that nobody knows has none.

    The client has a newer call for this, which ends the process if the broker goes away meanwhile.
    """
    found = admin.list_groups(group, timeout=ANSWER_SECONDS)
    return {str(member.id) for one in found for member in one.members}


def start_anew_if_out(membership: Membership, group: str, rejoin_seconds: float) -> None:
    """Look once more, and start the process anew if the group has been without us for too long."""
    seconds = membership.seconds_out()
    if seconds > rejoin_seconds:
        log.error("out_of_group", what=OUT.format(group=group, seconds=seconds))
        start_anew()
