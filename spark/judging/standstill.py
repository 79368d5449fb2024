"""What has work and does not advance: found by looking at positions again, not at the time of day.

A position that moves between two looks says that its hop is late, one that does not that it is
behind. No clock of another machine is trusted for that.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient

from spark.kafka.positions import committed_offsets
from spark.session import log_progress

POLL_SECONDS = 0.2

Row = dict[str, Any]


class Patience(NamedTuple):
    """How long a run waits, on the clock of time.monotonic."""

    deadline: float
    standstill_seconds: float  # without an advance for so long, none will come

    def wait_until_settled(self, behind: Callable[[], str]) -> str:
        """Wait until nothing is behind; give up with the sentence about what is.

        Each sentence names a position: while it stays the same, nothing advances.
        """
        sentence = behind()
        last_sentence = sentence
        advanced_at = time.monotonic()
        if sentence:
            log_progress(f"waiting: {sentence}")
        while sentence:
            now = time.monotonic()
            if sentence != last_sentence:
                last_sentence = sentence
                advanced_at = now
            stands_still = now - advanced_at >= self.standstill_seconds
            if stands_still or now >= self.deadline:
                break
            time.sleep(POLL_SECONDS)
            sentence = behind()
        return sentence


class GroupLook(NamedTuple):
    """How far a consumer group had committed at one moment, and whom to ask again."""

    admin: AdminClient
    group: str
    topic: str
    committed: Mapping[int, int]
    at: float  # on the clock of time.monotonic

    def wait_for_advance(self, partitions: Iterable[int], patience: Patience) -> str:
        """Wait until each partition has advanced since; else return a sentence about one."""
        not_advanced = set(partitions)

        def behind() -> str:
            now = committed_offsets(self.admin, self.group, self.topic)
            for partition in sorted(not_advanced):
                offset = now.get(partition, 0)
                if offset == self.committed.get(partition, 0):
                    place = f"{self.topic}/{partition} is handled up to {offset}"
                    return f"{place}: does the service run?"
            return ""

        deadline = self.at + patience.standstill_seconds
        until = min(deadline, patience.deadline)
        return patience._replace(deadline=until).wait_until_settled(behind)


def look_at_group(admin: AdminClient, group: str, topic: str) -> GroupLook:
    """Return how far a group has committed."""
    at = time.monotonic()
    committed = committed_offsets(admin, group, topic)
    return GroupLook(admin, group, topic, committed, at)


class Behind(NamedTuple):
    """A hop that has work and does not advance."""

    hop: str
    waiting: int
    since: str | None  # when the oldest of them was written, by its writer's clock
    where: str  # the position that does not move

    def __str__(self) -> str:
        """Return what the verdict says of it."""
        since = f" since {self.since} UTC" if self.since else ""
        return f"{self.hop}, {self.waiting:,} wait{since}"


def hops_behind(counts: Iterable[Row], otherwise: str, where: str) -> list[Behind]:
    """Return those hops in which ids wait, at a position that does not move.

    Work of which nothing waits, such as an offset commit, is that of one hop that must be named.
    """
    found = []
    late = 0
    for row in counts:
        if row["hop"] == otherwise:
            late = row["late"]
        if row["waiting"]:
            one = Behind(row["hop"], row["waiting"], row["waiting_since"], where)
            found.append(one)
    return found or [Behind(otherwise, late, None, where)]
