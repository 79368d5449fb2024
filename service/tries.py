"""Which record ends the process: how often handling began at an offset that was never passed.

The count is in the metadata of the committed offset, so that every commit that goes on takes it
back: there is one write after an assignment, and none for a batch. After two ends in a batch its
records go alone, and each try is written before it begins. A record with three ends alone is buried
unread.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

TOGETHER = 2  # ends of the process in a batch; then its records go alone
ALONE = 3  # ends with one record alone; then it is buried
COUNT = re.compile("tries=([0-9]{1,3})")
REASON = f"the process ended {ALONE} times while it handled this record alone"


@dataclass
class Tries:
    """What is known of the partitions that have not gone on since they were assigned."""

    records_alone: int  # so many go alone: a batch has no more
    counts: dict[int, int] = field(default_factory=dict)  # ends so far, where nothing went on yet
    begun: set[int] = field(default_factory=set)  # whose try is written down
    excused: set[int] = field(default_factory=set)  # whose try does not count: there was an outage
    alone: dict[int, int] = field(default_factory=dict)  # how many records still go alone

    def assign(self, number: int, metadata: str | None) -> None:
        """Note what is known of the offset at which a partition begins."""
        self.drop(number)
        count = read_count(metadata)
        self.counts[number] = count
        if count >= TOGETHER:
            self.alone[number] = self.records_alone

    def drop(self, number: int) -> None:
        """Forget a partition that is ours no more."""
        self.counts.pop(number, None)
        self.begun.discard(number)
        self.excused.discard(number)
        self.alone.pop(number, None)

    def go_alone(self) -> bool:
        """Return whether a batch must be one record."""
        return bool(self.alone)

    def ends_the_process(self, number: int) -> bool:
        """Return whether the next record of a partition is to be buried unread."""
        return self.counts.get(number, 0) >= TOGETHER + ALONE

    def to_begin(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the metadata to commit before a batch with these partitions has any effect."""
        written = {}
        for number in self.counts.keys() & set(numbers):
            is_noted = number in self.begun or number in self.excused
            if not is_noted and not self.ends_the_process(number):
                written[number] = write_count(self.counts[number] + 1)
        return written

    def noted(self) -> dict[int, str]:
        """Return the metadata of the tries that are written down."""
        return {number: write_count(self.counts[number] + 1) for number in self.begun}

    def take_back(self) -> dict[int, str]:
        """Return the metadata to commit where the process may end for another reason now.

        In an outage it may be ended by whoever waits for it. So this try does not count.
        """
        written = {number: write_count(self.counts[number]) for number in self.begun}
        self.excused |= self.begun
        self.begun.clear()
        return written

    def go_on(self, handled: dict[int, int]) -> dict[int, str]:
        """Note how many records of each partition are handled; return the metadata of the commit.

        Those that go alone must be known as such by whoever begins at the next one.
        """
        written = {}
        for number, records in handled.items():
            self.counts.pop(number, None)
            self.begun.discard(number)
            self.excused.discard(number)
            left = self.alone.pop(number, 0) - records
            if left > 0:
                self.alone[number] = left
                self.counts[number] = TOGETHER
                written[number] = write_count(TOGETHER)
        return written


def read_count(metadata: str | None) -> int:
    """Return the count in the metadata of an offset; what others have written there is none."""
    found = COUNT.fullmatch(metadata or "")
    return int(found[1]) if found else 0


def write_count(count: int) -> str:
    """Return a count as metadata of an offset."""
    return f"tries={count}"
