"""What arrives on a topic from now on: how often the event of each order, and when the first."""

import re
import time
from collections import Counter
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ops.topic import reader, spans

ORDER_ID = re.compile(rb"\bp\d+-o\d+")  # as `make_orders` names them, however the value is wrapped
POLL_SECONDS = 0.05
AT_ONCE = 1000


class Arrivals:
    """Reads a topic from its end as it is when this is made."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.consumer: Consumer = reader(bootstrap)
        self.next = {number: span.stop for number, span in spans(self.consumer, topic).items()}
        starts = [TopicPartition(topic, number, offset) for number, offset in self.next.items()]
        self.consumer.assign(starts)
        self.times: Counter[str] = Counter()
        self.first: dict[str, float] = {}

    def read_until(self, is_done: Callable[[], bool], silent_seconds: float) -> bool:
        """Read until the condition holds, or nothing has come for so long; say whether it holds."""
        latest = time.monotonic()
        while not is_done():
            if self.read_some():
                latest = time.monotonic()
            elif time.monotonic() - latest > silent_seconds:
                return False
        return True

    def read_some(self) -> bool:
        """Read what is there, and say whether there was anything."""
        has_read = False
        for _ in range(AT_ONCE):
            record = self.consumer.poll(0 if has_read else POLL_SECONDS)
            if record is None:
                break
            has_read = self.take(record) or has_read
        return has_read

    def take(self, record: Message) -> bool:
        """Note one record; the end of a partition is none."""
        error = record.error()
        if error:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            return False
        partition, offset = record.partition(), record.offset()
        assert partition is not None
        assert offset is not None
        self.next[partition] = offset + 1
        found = ORDER_ID.search(record.value() or b"")
        if found:
            order_id = found[0].decode()
            self.first.setdefault(order_id, time.perf_counter())
            self.times[order_id] += 1
        return True

    def read_to_end(self, silent_seconds: float) -> bool:
        """Read up to where each partition ends now."""
        ends = {number: span.stop for number, span in spans(self.consumer, self.topic).items()}
        return self.read_until(
            lambda: all(self.next[number] >= end for number, end in ends.items()),
            silent_seconds,
        )

    def close(self) -> None:
        """Leave the topic."""
        self.consumer.close()
