"""The queueing model: a process that takes in one batch whatever has come together.

It waits for company for a `window`, unless a batch of `most` is there; then it works for `fixed`
and for `each` item of the batch. What comes meanwhile is the next batch. So with a rate r:

    batch   = r * (window + fixed) / (1 - r * each)   what comes in one round, at most `most`
    round   = window + fixed + each * batch           an item waits for half of it, on average;
                                                      at most what fills the largest batch
    most a second = most / (fixed + each * most)      where batches cannot grow any further
    utilisation   = r / most a second

Batches grow with the load, so the time of a round hardly does, until `most` is reached. There is
no term for chance: above 60 % it would be needed, and nobody should plan for that.
"""

from dataclasses import dataclass
from math import expm1

PLANNED = 0.6  # of what it can do; the rest is for moments in which more comes


@dataclass(frozen=True)
class Server:
    """One process that works in batches; all times are seconds."""

    window: float
    fixed: float
    each: float
    most: int

    @property
    def capacity(self) -> float:
        """Return how many items a second it can do, in full batches."""
        return self.most / (self.fixed + self.each * self.most)

    def utilisation(self, rate: float) -> float:
        """Return how much of what it can do it is asked to do."""
        return rate / self.capacity

    def batch(self, rate: float) -> float:
        """Return how many items a batch has."""
        left = 1 - rate * self.each  # of each second, for what is done once in a batch
        if left <= 0:
            return self.most
        return min(self.most, max(1.0, rate * (self.window + self.fixed) / left))

    def work(self, rate: float) -> float:
        """Return how long it works on a batch."""
        return self.fixed + self.each * self.batch(rate)

    def round(self, rate: float) -> float:
        """Return the time from one batch to the next; one that is full waits for nobody else."""
        until_full = max(self.work(rate), self.most / rate)
        return min(self.window + self.work(rate), until_full)

    def wait(self, rate: float) -> float:
        """Return how long an item waits until its batch is begun: usual and average are the same.

        It may come at any moment of a round.
        """
        return self.round(rate) / 2


def servers_for(rate: float, capacity: float) -> int:
    """Return how many are needed so that none has more to do than is planned."""
    whole, rest = divmod(rate, PLANNED * capacity)
    return max(1, int(whole) + (rest > 0))


def distinct(pages: float, writes: float) -> float:
    """Return how many of these pages are hit at least once by writes to random places."""
    return -pages * expm1(-writes / pages) if pages else 0.0
