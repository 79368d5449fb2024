"""Which record ends the process: how often handling began at an offset that was never passed.

The count is in the metadata of the committed offset, so that every commit that goes on takes it
back: there is one write after an assignment, and none for a batch. After an end, what was in that
batch comes in smaller ones, each of which is written down before it begins; after another, in
smaller ones yet, and then one by one. A record with three ends alone is buried unread.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

SHARES = (1, 8, 64)  # a batch has that part of its records, after no end, one and two
TOGETHER = len(SHARES)  # ends of the process in company; then its records go alone
ALONE = 3  # ends with one record alone; then it is buried
COUNT = re.compile("tries=([0-9]{1,3})")
REASON = f"the process ended {ALONE} times while it handled this record alone"


@dataclass
class Tries:
    """What is known of the partitions that have not gone on since they were assigned."""

    batch_records: int
    counts: dict[int, int] = field(default_factory=dict)  # ends so far, where nothing went on yet
    begun: set[int] = field(default_factory=set)  # whose try is written down
    excused: set[int] = field(default_factory=set)  # whose try does not count: there was an outage
    watched: dict[int, int] = field(default_factory=dict)  # records that still come in small ones

    def assign(self, number: int, metadata: str | None) -> None:
        """Note what is known of the offset at which a partition begins."""
        self.drop(number)
        count = read_count(metadata)
        self.counts[number] = count
        if count:
            self.watched[number] = self.size_after(count - 1)

    def drop(self, number: int) -> None:
        """Forget a partition that is ours no more."""
        self.counts.pop(number, None)
        self.begun.discard(number)
        self.excused.discard(number)
        self.watched.pop(number, None)

    def most_records(self) -> int:
        """Return how many records a batch may have now."""
        sizes = [self.size_after(self.counts[number]) for number in self.watched]
        return min(sizes, default=self.batch_records)

    def size_after(self, count: int) -> int:
        """Return how many records a batch may have after so many ends of the process."""
        is_alone = count >= TOGETHER
        return 1 if is_alone else max(1, self.batch_records // SHARES[count])

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

        Whoever begins at the next record of those that are watched must know as much.
        """
        written = {}
        for number, records in handled.items():
            count = min(self.counts.get(number, 0), TOGETHER)
            left = self.watched.get(number, 0) - records
            self.drop(number)
            if left > 0:
                self.counts[number] = count
                self.watched[number] = left
                written[number] = write_count(count)
        return written


def read_count(metadata: str | None) -> int:
    """Return the count in the metadata of an offset; what others have written there is none."""
    found = COUNT.fullmatch(metadata or "")
    return int(found[1]) if found else 0


def write_count(count: int) -> str:
    """Return a count as metadata of an offset."""
    return f"tries={count}"
