"""A service that runs between the two topics, and the events that come of what it is sent."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition

from contract.names import INPUT_TOPIC
from lab.environment import empty_tables
from lab.reference_orders import FIRST, send
from ops.produce import connect
from ops.stack.stack import Stack

EVENTS = "fulfillment.events"
WARM_UP = range(FIRST - 100, FIRST)
WITHOUT_AUDIT = {"AUDIT_MODE": "none"}


@contextmanager
def running_service(
    stack: Stack, module: str, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Producer, Consumer]]:
    """Run one of the services, warm, on empty tables; yield a producer and a reader of events."""
    empty_tables(stack.env())
    env = stack.env() | stack.part("service").env | dict(settings or {})
    stack.supervisor.spawn("service", [sys.executable, "-m", module], env)
    producer = connect(stack.env()["KAFKA_BOOTSTRAP_SERVERS"])
    with follow(stack, EVENTS) as events:
        send(producer, INPUT_TOPIC, WARM_UP)
        read_moments(events, WARM_UP)
        yield producer, events
    stack.stop("service")


def follow(stack: Stack, topic: str) -> Consumer:
    """Return a consumer of everything that arrives from now on."""
    consumer = Consumer(
        {
            "bootstrap.servers": stack.env()["KAFKA_BOOTSTRAP_SERVERS"],
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    ends = []
    for number in partitions:
        end = TopicPartition(topic, number)
        _, end.offset = consumer.get_watermark_offsets(end, timeout=10) or (0, 0)
        ends.append(end)
    consumer.assign(ends)
    return consumer


def read_moments(events: Consumer, numbers: range) -> list[float]:
    """Return when the event of each of these orders was read."""
    keys = [f"o-{number}".encode() for number in numbers]
    missing = set(keys)
    moments: dict[bytes, float] = {}
    while missing:
        event = events.poll(60)  # a chain that is silent for this long is broken
        assert event, f"{len(missing)} of {len(keys)} events are missing: see the stack's logs"
        key = event.key() or b""
        if key in missing:  # an event may be published twice: the first one counts
            moments[key] = time.perf_counter()
            missing.discard(key)
    return [moments[key] for key in keys]
