"""Which acknowledgements are lost, and how many were by now."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

EVERY = 10  # nine of ten answers pass: a client that is cut off each time would prove little but patience


@dataclass
class Tally:
    """How many Produce requests were answered, and how many of these answers were lost; no more than `limit`."""

    limit: int
    say: Callable[[str], object] = lambda _: None
    answers: int = 0
    lost: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def loses(self) -> bool:
        """Count an answer, and say whether it is one to lose."""
        with self.lock:
            self.answers += 1
            if self.lost == self.limit or self.answers % EVERY:
                return False
            self.lost += 1
            self.say(f"{self.lost:,} of {self.limit:,} acknowledgements lost")
            return True
