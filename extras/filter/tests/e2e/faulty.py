"""python -m extras.filter.tests.e2e.faulty KIND N: a filter that fails in its Nth transaction.

kill: dies before the commit. freeze: is stopped before the commit, until somebody wakes it.
doubles and loses: controls without a transaction, which die between output and mark, in either
sequence.
"""

import os
import signal
import sys
from typing import Any

from confluent_kafka import Producer

from extras.filter.__main__ import main

SIGNALS = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP}


class Faulty(Producer):
    """A producer that fails once."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.kind = sys.argv[1]
        self.left = int(sys.argv[2])

    def commit_transaction(self, *arguments: Any) -> None:
        """Fail, or commit."""
        self.left -= 1
        if self.left == 0:
            self.flush()  # what would be there without a transaction
            os.kill(os.getpid(), SIGNALS[self.kind])
        super().commit_transaction(*arguments)


if __name__ == "__main__":
    main(Faulty)
