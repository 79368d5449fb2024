"""Whether the group still has us: a client may fall out of it, and neither come back nor say so.

A broker that is about to go can say for a moment that there are no brokers. librdkafka believes it,
and may then never look for one again (its issue 5301): no error, no partition, until the process
ends. So somebody else has to ask.
"""

import time
from collections.abc import Callable

import structlog
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from service.stop import start_anew

log = structlog.get_logger()

ANSWER_SECONDS = 3.0
OUT = (
    "group {group} has not had this process as a member for {seconds:.0f} s, although its broker"
    " answers: the client would not come back by itself"
)


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
