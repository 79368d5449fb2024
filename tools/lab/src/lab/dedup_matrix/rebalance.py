"""A forced rebalance: a worker is so slow that the broker gives its record to a faster one."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.environment import make_topic
from ops.produce import connect
from service.consumer import to_record
from service.record import Record

# The broker's answers to a worker that is no member of the group any more.
NOT_A_MEMBER = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
}
# Each wait ends by then: the rebalance takes the poll interval, and a thief waits for a lease.
SECONDS = 60
CONSUMER = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 6000,  # the broker takes no less
    "max.poll.interval.ms": 6000,  # not less than that
    "log_level": 3,  # the missed poll is on purpose
    "heartbeat.interval.ms": 200,  # how soon it hears that the group has changed
}

Slow = Callable[[], None]  # to be called in the middle of the work
Handle = Callable[[Sequence[Record], Slow], None]


def redeliver(bootstrap_servers: str, record: Record, handle: Handle) -> list[Record]:
    """Send a record, let two workers of one group handle what they get, and return what they got.

    The first works until the second is done; by then it has missed its poll, and its commit is
    refused.
    """
    scene = Scene(bootstrap_servers, record.topic, handle, threading.Event(), threading.Event())
    with topic_with(bootstrap_servers, record), ThreadPoolExecutor(2) as workers:
        first = workers.submit(scene.work, scene.be_slow)
        first.add_done_callback(lambda _: scene.began.set())  # or has failed
        wait(scene.began, "the first worker got no record")
        second = workers.submit(scene.work, lambda: None)
        second.add_done_callback(lambda _: scene.finished.set())
        late, is_late_committed = first.result()
        good, is_good_committed = second.result()
    assert late.offset == good.offset, "the second worker got another record"
    assert is_good_committed, "the second worker was thrown out of the group, too"
    assert not is_late_committed, "the first worker was not thrown out of the group"
    return [late, good]


class Scene(NamedTuple):
    """What the two workers share."""

    bootstrap_servers: str
    topic: str
    handle: Handle
    began: threading.Event  # the first has its record
    finished: threading.Event  # the second is done

    def be_slow(self) -> None:
        """Work until the other one is done: no clock decides which is first."""
        self.began.set()
        wait(self.finished, "the second worker is not done")

    def work(self, slow: Slow) -> tuple[Record, bool]:
        """Run one worker; return its record, and whether its commit was taken."""
        servers = {"bootstrap.servers": self.bootstrap_servers, "group.id": self.topic}
        consumer = Consumer({**CONSUMER, **servers})
        try:
            consumer.subscribe([self.topic])
            record = self.next(consumer)
            self.handle([record], slow)
            return record, commit(consumer, record)
        finally:
            leave(consumer)

    def next(self, consumer: Consumer) -> Record:
        """Return the record as soon as the group gives it to us."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message and message.error() is None:
                return to_record(message)
        raise TimeoutError(f"{self.topic}: no record within {SECONDS} s")


def commit(consumer: Consumer, record: Record) -> bool:
    """Commit the record; return whether the broker took it."""
    after = TopicPartition(record.topic, record.partition, record.offset + 1)
    try:
        consumer.commit(offsets=[after], asynchronous=False)
    except KafkaException as failure:
        if failure.args[0].code() in NOT_A_MEMBER:
            return False
        raise
    return True


def leave(consumer: Consumer) -> None:
    """Close when no rebalance is in progress: a close in the middle of one may never return."""
    consumer.unsubscribe()
    deadline = time.monotonic() + SECONDS
    while consumer.poll(0.5) or consumer.assignment():  # serves what was in progress
        if time.monotonic() > deadline:
            raise TimeoutError(f"the group did not let a worker go within {SECONDS} s")
    consumer.close()


def wait(event: threading.Event, problem: str) -> None:
    """Wait for an event, but not for ever."""
    if not event.wait(SECONDS):
        raise TimeoutError(f"after {SECONDS} s {problem}")


@contextmanager
def topic_with(bootstrap_servers: str, record: Record) -> Iterator[None]:
    """Keep a topic with this record alone for the time of a block."""
    topic = record.topic
    make_topic(bootstrap_servers, topic, partitions=1)
    try:
        producer = connect(bootstrap_servers)
        producer.produce(topic, record.value, record.key, headers=list(record.headers))
        assert producer.flush(SECONDS) == 0, "the broker did not take the record"
        yield
    finally:
        admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
        deleted = admin.delete_topics([topic], operation_timeout=SECONDS)
        deleted[topic].result()
