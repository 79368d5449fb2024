"""The whole chain, audit on: how much passes through it, how long one order takes, and in how much memory."""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from statistics import median, quantiles

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from lab.bench.numbers import Number, compare
from lab.bench.place import FIRST, clear, send
from ops.positions import try_lag
from ops.produce import TOPIC, connect
from ops.stack.stack import Stack
from ops.stack.supervisor import until

RATE = 50  # orders a second, for latency


def throughput(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Rates of both chains: the same Debezium, the same receiver, another service."""
    arms = {
        "ours": partial(rate, stack, "service", orders),
        "naive": partial(rate, stack, "lab.bench.naive", orders // 40),
    }
    return compare("chain", arms, {"naive": ">= 20"}, rounds, stack.step)


def rate(stack: Stack, module: str, count: int) -> float:
    """Orders a second, from before the first is produced until the last event is read."""
    with service(stack, module) as (to, events):
        started = time.perf_counter()
        send(to, TOPIC, range(FIRST, FIRST + count))
        return count / (max(read(events, range(FIRST, FIRST + count))) - started)


def latency(stack: Stack, orders: int, _rounds: int) -> list[Number]:
    """Open loop: each order is sent when it is due, however the ones before it fare; its own wait counts too."""
    numbers = range(FIRST, FIRST + min(30 * RATE, orders))
    with (
        service(stack, "service") as (to, events),
        ThreadPoolExecutor(1) as beside,
        stack.step("latency"),
    ):
        due = [time.perf_counter() + n / RATE for n in range(len(numbers))]
        sent = beside.submit(send, to, TOPIC, in_time(numbers, due))
        late = [
            (moment - then) * 1000 for moment, then in zip(read(events, numbers), due, strict=True)
        ]
        sent.result()
    found = [
        ("median", median(late), "<= 150"),
        ("p99", quantiles(late, n=100)[98], "<= 500"),
        ("max", max(late), ""),
    ]
    return [
        Number("latency", f"{name}, {RATE} orders/s", value, "ms", goal)
        for name, value, goal in found
    ]


def in_time(numbers: range, due: list[float]) -> Iterator[int]:
    """Each when it is due."""
    for number, moment in zip(numbers, due, strict=True):
        time.sleep(max(0, moment - time.perf_counter()))
        yield number


def memory(stack: Stack, orders: int, _rounds: int) -> list[Number]:
    """Ten times the orders of the other arms, and then one large record for every hundred of these."""
    small, large, value = (
        range(FIRST, FIRST + orders * 10),
        range(orders // 100),
        b"x" * 999_000,
    )  # what a client sends
    with service(stack, "service") as (to, _):
        found = watch(stack, f"{len(small):,} orders", partial(send, to, TOPIC, small))
        return found + watch(
            stack, f"{len(large)} records of 1 MB", partial(send, to, TOPIC, large, lambda _: value)
        )


def watch(stack: Stack, what: str, produce: Callable[[], None]) -> list[Number]:
    """The service's resident memory, from before the first of these records until all are committed."""
    process, samples = psutil.Process(stack.supervisor.children["service"].pid), list[float]()
    with stack.step(f"memory over {what}"), ThreadPoolExecutor(1) as beside:
        sent = beside.submit(produce)

        def handled() -> bool:
            samples.append(process.memory_info().rss / 1e6)
            return sent.done() and not sum((try_lag(stack.env()) or {0: 1}).values())

        assert until(handled, 3600), (
            f"{what}: not handled within an hour"
        )  # half a million take minutes
        sent.result()
    grown = (
        samples[-1] - samples[len(samples) // 4]
    )  # by then it is warm; 20 MB are 40 bytes an order
    found = [
        ("start", samples[0], ""),
        ("max", max(samples), "<= 150"),
        ("last less first quarter", grown, "<= 20"),
    ]
    return [Number("memory", f"{what}: {name}", value, "MB", goal) for name, value, goal in found]


@contextmanager
def service(stack: Stack, module: str) -> Iterator[tuple[Producer, Consumer]]:
    """One of the services on empty tables, warm; with whom to send it orders and whom to read its events from."""
    clear(stack.env())
    stack.supervisor.spawn(
        "service", [sys.executable, "-m", module], stack.env() | stack.part("service").env
    )
    to, warm_up = connect(stack.env()["KAFKA_BOOTSTRAP_SERVERS"]), range(FIRST - 100, FIRST)
    with follow(stack, "fulfillment.events") as events:
        send(to, TOPIC, warm_up)
        read(events, warm_up)
        yield to, events
    stack.stop("service")


def follow(stack: Stack, topic: str) -> Consumer:
    """A consumer of what comes from now on."""
    from_here = {"group.id": "bench", "enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = Consumer({"bootstrap.servers": stack.env()["KAFKA_BOOTSTRAP_SERVERS"], **from_here})
    parts = [
        TopicPartition(topic, n)
        for n in consumer.list_topics(topic, timeout=10).topics[topic].partitions
    ]
    for part in parts:
        _, part.offset = consumer.get_watermark_offsets(part, timeout=10) or (0, 0)
    consumer.assign(parts)
    return consumer


def read(events: Consumer, numbers: range) -> list[float]:
    """When the event of each of these orders was read."""
    wanted, moments = {f"o-{number}".encode() for number in numbers}, dict[bytes, float]()
    while len(moments) < len(wanted):
        event = events.poll(60)  # a chain that says nothing for so long is broken
        assert event, (
            f"{len(wanted) - len(moments)} of {len(wanted)} events are missing: see the logs of the stack"
        )
        if (key := event.key() or b"") in wanted:
            moments.setdefault(key, time.perf_counter())  # an event may be published twice
    return [moments[f"o-{number}".encode()] for number in numbers]
