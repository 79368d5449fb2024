"""Two ways to commit an offset: by a timer that does not know the work, or after the work."""

from typing import ClassVar

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from contract.names import INPUT_TOPIC
from ops.stack.supervisor import until
from ops.topic import SECONDS


class TimedCommit:
    """Auto-commit: a record counts as done when it is handed over; the next tick commits it."""

    SETTINGS: ClassVar = {
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 1000,
        "enable.auto.offset.store": False,  # before() does it, at the same moment
    }

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.stored: dict[int, int] = {}

    def before(self, record: Message, point: str) -> None:
        """Store the offset; but a worker that will fail waits for a tick first.

        It then fails long before the next tick. That is the mildest moment: at any other, whatever
        else came since the tick would be doubled too.
        """
        if point:
            self.wait_for_tick()
        else:
            self.store(record)

    def within(self, record: Message, point: str) -> None:
        """Take so long over a late order that the timer ticks."""
        if point == "late":
            self.store(record)
            self.wait_for_tick()

    def after(self, record: Message) -> None:
        """Do nothing: the timer does not know when the work is done."""

    def store(self, record: Message) -> None:
        """Leave the offset to the timer."""
        self.consumer.store_offsets(message=record)
        partition = record.partition() or 0
        offset = record.offset() or 0
        self.stored[partition] = offset + 1

    def wait_for_tick(self) -> None:
        """Wait until everything that was stored is committed."""
        ticked = until(self.is_committed, SECONDS)
        assert ticked, f"the timer has not committed {self.stored} within {SECONDS} s"

    def is_committed(self) -> bool:
        """Return whether the broker has every stored offset."""
        partitions = [TopicPartition(INPUT_TOPIC, partition) for partition in self.stored]
        committed = self.consumer.committed(partitions, SECONDS)
        return all(at.offset >= self.stored[at.partition] for at in committed)


class ManualCommit:
    """Commits each offset when the work on its record is done."""

    SETTINGS: ClassVar = {"enable.auto.commit": False}

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer

    def before(self, record: Message, point: str) -> None:
        """Do nothing."""

    def within(self, record: Message, point: str) -> None:
        """Do nothing."""

    def after(self, record: Message) -> None:
        """Commit; a worker that has lost the partition leaves the record to the new owner."""
        try:
            self.consumer.commit(message=record, asynchronous=False)
        except KafkaException as failure:
            print(f"{record.partition()}/{record.offset()}: not committed, {failure}", flush=True)
