"""Pulses: how long the way takes, from the input topic to the service, the topics and the lake.

A pulse goes where every message goes, so what is late for it is late for all.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import cycle
from typing import NamedTuple, cast
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from access.kafka import kafka_connection
from contract.pulse import PULSE_HEADER, PULSE_TOPIC, sent_at
from ops.positions import Ends, landed
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.topic import reader, spans

SOON = 5.0  # seconds
RENEW_SECONDS = 60.0  # no pulse came back for so long
AT_ONCE = 100
# Nobody takes it for a message, should another consumer of the topic not know pulses.
VALUE = b'{"pulse": true}'

Show = Callable[[str, float], None]  # a hop, and how long the last pulse took to it


class Line(NamedTuple):
    """How pulses are sent, and where their events are seen."""

    producer: Producer
    consumer: Consumer
    partitions: Iterator[int]  # of the input topic, each in turn


class Passed(NamedTuple):
    """A pulse whose event was published."""

    sent_at: float
    handled_at: float
    published_at: float
    partition: int  # of the event
    offset: int


@dataclass
class Pulses:
    """Sends pulses, and shows where they are by now."""

    env: Env
    seconds: float  # between two of them
    show: Show
    next_at: float = 0.0
    line: Line | None = None
    seen_at: float = 0.0  # when a pulse came back, or new clients were tried
    to_land: dict[int, Passed] = field(default_factory=dict)  # by partition

    def beat(self) -> None:
        """Send a pulse if it is time, and look at those that were sent before."""
        with suppress(KafkaException, StackError, BufferError):  # the guard says who is away
            is_overdue = time.monotonic() > self.seen_at + RENEW_SECONDS
            if self.line is None or is_overdue:
                self.seen_at = time.monotonic()
                self.line = self.new_line()
            if time.monotonic() >= self.next_at:
                self.next_at = time.monotonic() + self.seconds
                send(self.line, self.env["INPUT_TOPIC"])
            self.look(self.line.consumer)

    def new_line(self) -> Line:
        """Return new clients: those that once were told of no brokers may never find one again.

        Without a broker this raises; the old ones stay, and what they have not sent yet.
        """
        line = open_line(self.env)
        if self.line is not None:
            self.line.producer.flush(SOON)
        return line

    def look(self, consumer: Consumer) -> None:
        """Show how long pulses took whose events have come, and those that have landed."""
        for message in consumer.consume(AT_ONCE, 0):
            passed = read_event(message, self.env["SUBSCRIBER"])
            if passed is None:
                continue
            self.seen_at = time.monotonic()
            self.show("handled", passed.handled_at - passed.sent_at)
            self.show("published", passed.published_at - passed.sent_at)
            self.to_land.setdefault(passed.partition, passed)
        if self.to_land:
            self.look_at_landing(landed(self.env))

    def look_at_landing(self, ends: Ends) -> None:
        """Show how long pulses took to the lake, as exactly as one looks."""
        of_topic = ends.get(PULSE_TOPIC, {})
        for partition, passed in list(self.to_land.items()):
            end = of_topic.get(str(partition), 0)
            has_landed = end > passed.offset
            if has_landed:
                self.show("landed", time.time() - passed.sent_at)
                del self.to_land[partition]


def open_line(env: Env) -> Line:
    """Begin behind the last event that is there now."""
    bootstrap = env["KAFKA_BOOTSTRAP_SERVERS"]
    consumer = reader(bootstrap)
    numbers = spans(consumer, env["INPUT_TOPIC"], SOON)
    held = spans(consumer, PULSE_TOPIC, SOON)
    consumer.assign(
        [TopicPartition(PULSE_TOPIC, number, span.stop) for number, span in held.items()]
    )
    settings = {
        **kafka_connection(bootstrap),
        "enable.idempotence": True,
        "log_level": 0,
    }
    return Line(Producer(settings), consumer, cycle(sorted(numbers)))


def send(line: Line, topic: str) -> None:
    """Send a pulse; where no broker answers, it waits, and will be late."""
    now = time.time_ns() // 1_000_000
    pulse_id = f"{now:013}-{uuid4().hex[:12]}"
    line.producer.produce(
        topic,
        VALUE,
        partition=next(line.partitions),
        headers=[(PULSE_HEADER, pulse_id.encode())],
    )
    line.producer.poll(0)


def read_event(message: Message, subscriber: str) -> Passed | None:
    """Return the pulse of an event; None if it is another subscriber's, or no event at all."""
    if message.error() is not None:
        return None
    event = json.loads(message.value() or b"{}")
    if event.get("subscriber") != subscriber:
        return None
    headers = dict(cast("list[tuple[str, bytes]]", message.headers() or []))
    occurred_at = headers["ce_time"].decode()
    _, published_at = message.timestamp()
    return Passed(
        sent_at(event["pulse_id"]),
        datetime.fromisoformat(occurred_at).timestamp(),
        published_at / 1000,
        message.partition() or 0,
        message.offset() or 0,
    )
