"""How fast a number grows, and how long what it counts has waited: known by looking again."""

from collections import deque
from dataclasses import dataclass, field

PACE_SECONDS = 30.0
MOST_MARKS = 1000  # of one that stands still for long, the oldest marks tell how long


@dataclass
class Pace:
    """How fast a number grows."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def see(self, at: float, count: int) -> None:
        """Take in another look; a number that falls begins anew."""
        if self.seen and count < self.seen[-1][1]:
            self.seen.clear()
        self.seen.append((at, count))
        while at - self.seen[0][0] > PACE_SECONDS:
            self.seen.popleft()

    def a_second(self) -> float | None:
        """Return by how much it grows each second; None after a single look."""
        if len(self.seen) < 2:
            return None
        (began, first), (ended, last) = self.seen[0], self.seen[-1]
        return (last - first) / max(ended - began, 0.001)


@dataclass
class Waits:
    """How long the oldest of what is there, and not done yet, has waited."""

    marks: deque[tuple[float, int]] = field(default_factory=deque)

    def see(self, at: float, end: int, done: int) -> None:
        """Take in how many there are, and how many are done."""
        while self.marks and self.marks[0][1] <= done:
            self.marks.popleft()
        is_more = end > (self.marks[-1][1] if self.marks else done)
        if is_more and len(self.marks) < MOST_MARKS:
            self.marks.append((at, end))

    def seconds(self, at: float) -> float:
        """Return for how many seconds the oldest has waited, as far as that was seen."""
        return at - self.marks[0][0] if self.marks else 0.0
