"""A forced rebalance: a worker is so slow that the broker gives its record to another, who is through before it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ops.produce import connect
from service.consumer import received
from service.record import Record

LOST = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
}  # said to who is no member any more
SECONDS = 60  # each wait ends by then: the rebalance takes the poll interval, and a thief waits for a lease
CONSUMER = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 6000,  # the broker takes no less
    "max.poll.interval.ms": 6000,  # not less than that
    "log_level": 3,  # that a poll is missed is what is wanted
    "heartbeat.interval.ms": 200,  # so often it hears that the group has changed
}

Slow = Callable[[], None]  # to be called in the middle of the work
Handle = Callable[[Sequence[Record], Slow], None]


def redeliver(bootstrap_servers: str, record: Record, handle: Handle) -> list[Record]:
    """Send a record, let two workers of one group handle what they get, and return what they got.

    The first stays in its work until the second is through; by then it has missed its poll, and its commit is refused.
    """
    scene = Scene(bootstrap_servers, record.topic, handle, threading.Event(), threading.Event())
    with topic_with(bootstrap_servers, record), ThreadPoolExecutor(2) as workers:
        first = workers.submit(scene.work, scene.slow)
        first.add_done_callback(lambda _: scene.began.set())  # or has failed
        wait(scene.began, "the first worker got no record")
        second = workers.submit(scene.work, lambda: None)
        second.add_done_callback(lambda _: scene.finished.set())
        (late, is_late_committed), (good, is_good_committed) = first.result(), second.result()
    assert late.offset == good.offset, "the second worker got another record"
    assert is_good_committed, "the second worker was thrown out of the group, too"
    assert not is_late_committed, "the first worker was not thrown out of the group"
    return [late, good]


class Scene(NamedTuple):
    """What the two workers share."""

    bootstrap_servers: str
    topic: str
    handle: Handle
    began: threading.Event  # the first has its record in hand
    finished: threading.Event  # the second is through

    def slow(self) -> None:
        """Be at work for as long as the other is not through: no clock decides who is first."""
        self.began.set()
        wait(self.finished, "the second worker is not through")

    def work(self, slow: Slow) -> tuple[Record, bool]:
        """One worker, its record, and whether its commit was taken."""
        consumer = Consumer(
            CONSUMER | {"bootstrap.servers": self.bootstrap_servers, "group.id": self.topic}
        )
        try:
            consumer.subscribe([self.topic])
            record = self.next(consumer)
            self.handle([record], slow)
            after = TopicPartition(record.topic, record.partition, record.offset + 1)
            try:
                consumer.commit(offsets=[after], asynchronous=False)
            except KafkaException as failure:
                if failure.args[0].code() not in LOST:
                    raise
                return record, False
            return record, True
        finally:
            leave(consumer)

    def next(self, consumer: Consumer) -> Record:
        """The record, as soon as the group gives it to us."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message and (record := received(message)):
                return record
        raise TimeoutError(f"{self.topic}: no record within {SECONDS} s")


def leave(consumer: Consumer) -> None:
    """Close when no rebalance is under way: from a close in the midst of one the client may never come back."""
    consumer.unsubscribe()
    deadline = time.monotonic() + SECONDS
    while consumer.poll(0.5) or consumer.assignment():  # what had been under way is served
        if time.monotonic() > deadline:
            raise TimeoutError(f"the group did not let a worker go within {SECONDS} s")
    consumer.close()


def wait(event: threading.Event, without: str) -> None:
    """Wait for it, but not for ever."""
    if not event.wait(SECONDS):
        raise TimeoutError(f"after {SECONDS} s {without}")


@contextmanager
def topic_with(bootstrap_servers: str, record: Record) -> Iterator[None]:
    """A topic of this record alone, for the time of a block."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    for done in admin.create_topics(
        [NewTopic(record.topic, 1, 1)], operation_timeout=SECONDS
    ).values():
        done.result()
    try:
        producer = connect(bootstrap_servers)
        producer.produce(record.topic, record.value, record.key, headers=list(record.headers))
        assert producer.flush(SECONDS) == 0, "the broker did not take the record"
        yield
    finally:
        for done in admin.delete_topics([record.topic], operation_timeout=SECONDS).values():
            done.result()
