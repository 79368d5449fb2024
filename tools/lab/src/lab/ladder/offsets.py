"""When an offset is committed: by the timer, which knows nothing of the work, or by hand, when the work is done."""

from typing import ClassVar

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from ops.produce import TOPIC
from ops.stack.supervisor import until
from ops.topic import SECONDS


class ByTimer:
    """As auto-commit does it: what was handed over is as good as done, and is committed at the next tick."""

    SETTINGS: ClassVar = {
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 1000,
        "enable.auto.offset.store": False,  # before() does it, at the same moment
    }

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.stored: dict[int, int] = {}

    def before(self, record: Message, point: str) -> None:
        """Store it; but who will be struck waits for a tick first, and is struck long before the next one.

        That is the mildest moment: whatever else came since the tick would be doubled too.
        """
        if point:
            self.wait_for_tick()
        else:
            self.store(record)

    def within(self, record: Message, point: str) -> None:
        """An order whose work takes so long that the timer comes around."""
        if point == "late":
            self.store(record)
            self.wait_for_tick()

    def after(self, record: Message) -> None:
        """Nothing: nobody tells the timer."""

    def store(self, record: Message) -> None:
        """Leave the offset to the timer."""
        self.consumer.store_offsets(message=record)
        self.stored[record.partition() or 0] = (record.offset() or 0) + 1

    def wait_for_tick(self) -> None:
        """Until everything that was stored is committed."""
        parts = [TopicPartition(TOPIC, partition) for partition in self.stored]
        ticked = until(
            lambda: all(
                at.offset >= self.stored[at.partition]
                for at in self.consumer.committed(parts, SECONDS)
            ),
            SECONDS,
        )
        assert ticked, f"the timer has not committed {self.stored} within {SECONDS} s"


class ByHand:
    """After the work, one by one."""

    SETTINGS: ClassVar = {"enable.auto.commit": False}

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer

    def before(self, record: Message, point: str) -> None:
        """Nothing."""

    def within(self, record: Message, point: str) -> None:
        """Nothing."""

    def after(self, record: Message) -> None:
        """Commit; whoever has lost the partition meanwhile leaves it to its new owner."""
        try:
            self.consumer.commit(message=record, asynchronous=False)
        except KafkaException as failure:
            print(f"{record.partition()}/{record.offset()}: not committed, {failure}", flush=True)
