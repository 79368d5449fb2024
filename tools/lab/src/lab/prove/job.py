"""What a client has to do in a proof: send numbers to a topic, each number once."""

from collections.abc import Mapping
from typing import NamedTuple

PARTITIONS = 4  # each with a producer of its own: while one is cut off, the others go on
LANES = 12  # numbers that are the same modulo this share a partition, of 3 or of 4 partitions

# Connections are lost by the hundred: do not wait long before the next.
SHORT_BACKOFF = {
    "retry.backoff.ms": "10",
    "retry.backoff.max.ms": "50",
    "reconnect.backoff.ms": "10",
    "reconnect.backoff.max.ms": "50",
}


TRANSACTIONAL = "transactional.id"
BATCHES_OF_A_TRANSACTION = 5


class Job(NamedTuple):
    """Send the numbers below `messages`, at most `together` of them in one request."""

    bootstrap: str  # the proxy
    settings: Mapping[str, str]
    topic: str
    messages: int
    together: int
    # Between any two transactions, send a batch of numbers from `messages` on, and take it back.
    aborts: bool = False

    @property
    def transaction_messages(self) -> int:
        """Return how many numbers a transaction has that is committed; 0 if there are none."""
        return BATCHES_OF_A_TRANSACTION * self.together if self.aborts else 0
