"""The entries that the audit receiver has not taken yet: asked for again, between two batches."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from service.outage import AbandonedError, OutageError
from service.post import Answers, AuditItem


@dataclass
class Repeat:
    """Asks again for what is due; it never waits, because batches go first."""

    claim: Callable[[], Sequence[AuditItem]]
    post: Callable[[Sequence[AuditItem]], Answers]
    mark: Callable[[Answers], object]
    seconds: float  # between two looks at the table
    next_look: float = 0

    def __call__(self) -> None:
        """Look for entries that are due, unless that was done just now; an outage changes none."""
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + self.seconds
        with suppress(OutageError, AbandonedError):
            items = self.claim()
            if items:
                answers = self.post(items)
                self.mark(answers)
