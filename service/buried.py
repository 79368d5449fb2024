"""What is buried before it is read: again, or because reading it has ended the process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from service.outage import MOMENT
from service.record import DeadLetter, Item, Record
from service.refusals import Cause
from service.tries import REASON


class Waiting(Protocol):
    """What the consumer is here."""

    restarts: int  # grows whenever records may come again

    def counts_tries(self) -> bool:
        """Return whether a partition has not gone on since it was assigned."""

    def is_fatal(self, record: Record) -> bool:
        """Return whether this record has ended the process, alone, too often."""

    def idle(self, seconds: float) -> None:
        """Poll for so long."""


@dataclass
class Buried:
    """Knows the refused records that were buried in a batch which was never committed.

    Each partition is asked about with its first record, and again after a restart.
    """

    read: Callable[[Record], Item]
    find: Callable[[Record], dict[int, Cause]]  # in the partition of a record, from it on
    consumer: Waiting
    begin_try: Callable[[], None]  # before anything is done with a record
    restarts: int = -1
    causes: dict[tuple[str, int], dict[int, Cause]] = field(default_factory=dict)

    def read_again(self, record: Record) -> Item:
        """Return the message in a record, or the dead letter that it has become before.

        What was refused stays buried, even if the database would take it by now.
        """
        if self.consumer.counts_tries():
            self.begin_try()
            if self.consumer.is_fatal(record):
                return DeadLetter(record, "invalid", REASON)
        if self.restarts != self.consumer.restarts:
            self.restarts = self.consumer.restarts
            self.causes.clear()
        partition = (record.topic, record.partition)
        if partition not in self.causes:
            self.causes[partition] = self.find(record)
            self.consumer.idle(MOMENT)
        cause = self.causes[partition].get(record.offset)
        if cause is None:
            return self.read(record)
        reason = f"refused by the database: {cause.code} {cause.name}".rstrip()
        return DeadLetter(record, "invalid", reason)
