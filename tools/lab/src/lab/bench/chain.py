"""The whole chain with audit: its throughput, the latency of one order, and the memory it takes."""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from statistics import median, quantiles

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from contract.names import INPUT_TOPIC
from lab.bench.numbers import NO_TARGET, Number, Target, compare
from lab.environment import empty_tables
from lab.reference_orders import FIRST, send
from ops.positions import try_lag
from ops.produce import connect
from ops.stack.stack import Stack
from ops.stack.supervisor import until

EVENTS = "fulfillment.events"
RATE = 50  # orders a second, for latency
LATENCY_SECONDS = 30
LARGE_VALUE = b"x" * 999_000  # about as much as a client sends
MEMORY_SECONDS = 3600  # half a million orders take minutes


def throughput(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of two chains: same Debezium, same receiver, another service."""
    arms = {
        "ours": partial(rate, stack, "service", orders),
        "naive": partial(rate, stack, "lab.bench.naive", orders // 40),
    }
    targets = {"ours / naive": Target(goal=">= 60", must=">= 45")}
    return compare("chain", arms, targets, rounds, stack.step)


def rate(stack: Stack, module: str, count: int) -> float:
    """Return orders a second, from before the first is sent until the last event is read."""
    numbers = range(FIRST, FIRST + count)
    with running_service(stack, module) as (producer, events):
        started = time.perf_counter()
        send(producer, INPUT_TOPIC, numbers)
        last = max(read_moments(events, numbers))
        return count / (last - started)


def latency(stack: Stack, orders: int, _rounds: int) -> list[Number]:
    """Send each order when it is due, however late the ones before it are: the wait counts too."""
    count = min(LATENCY_SECONDS * RATE, orders)
    numbers = range(FIRST, FIRST + count)
    with (
        running_service(stack, "service") as (producer, events),
        ThreadPoolExecutor(1) as background,
        stack.step("latency"),
    ):
        start = time.perf_counter()
        due = [start + n / RATE for n in range(count)]
        sending = background.submit(send, producer, INPUT_TOPIC, wait_for_each(numbers, due))
        arrived = read_moments(events, numbers)
        sending.result()
    delays = [(came - then) * 1000 for came, then in zip(arrived, due, strict=True)]
    p99 = quantiles(delays, n=100)[98]
    return [
        latency_number("median", median(delays), "<= 150"),
        latency_number("p99", p99, "<= 500"),
        latency_number("max", max(delays)),
    ]


def latency_number(name: str, value: float, goal: str = "") -> Number:
    """Return one line of the latency table."""
    return Number("latency", f"{name}, {RATE} orders/s", value, "ms", goal)


def wait_for_each(numbers: range, due: list[float]) -> Iterator[int]:
    """Yield each number when it is due."""
    for number, moment in zip(numbers, due, strict=True):
        early = moment - time.perf_counter()
        time.sleep(max(0, early))
        yield number


def memory(stack: Stack, orders: int, _rounds: int) -> list[Number]:
    """Take ten times the orders of the other arms, then one large record for every hundred."""
    small = range(FIRST, FIRST + orders * 10)
    large = range(orders // 100)
    with running_service(stack, "service") as (producer, _):
        send_small = partial(send, producer, INPUT_TOPIC, small)
        send_large = partial(send, producer, INPUT_TOPIC, large, lambda _: LARGE_VALUE)
        over_small = watch_memory(stack, f"{len(small):,} orders", send_small)
        over_large = watch_memory(stack, f"{len(large)} records of 1 MB", send_large)
    return over_small + over_large


def watch_memory(stack: Stack, what: str, produce: Callable[[], None]) -> list[Number]:
    """Sample the service's resident memory until all of these records are committed."""
    process = psutil.Process(stack.supervisor.children["service"].pid)
    samples: list[float] = []
    with stack.step(f"memory over {what}"), ThreadPoolExecutor(1) as background:
        sending = background.submit(produce)

        def is_handled() -> bool:
            samples.append(process.memory_info().rss / 1e6)
            if not sending.done():
                return False
            lags = try_lag(stack.env()) or {0: 1}
            return sum(lags.values()) == 0

        assert until(is_handled, MEMORY_SECONDS), f"{what}: not handled within an hour"
        sending.result()
    warm = samples[len(samples) // 4]
    grown = samples[-1] - warm  # 20 MB would be 40 bytes an order
    return [
        memory_number(what, "start", samples[0]),
        memory_number(what, "max", max(samples), Target("<= 150", "<= 150")),
        memory_number(what, "last less first quarter", grown, Target("<= 20", "<= 20")),
    ]


def memory_number(what: str, name: str, value: float, target: Target = NO_TARGET) -> Number:
    """Return one line of the memory table."""
    return Number("memory", f"{what}: {name}", value, "MB", *target)


@contextmanager
def running_service(stack: Stack, module: str) -> Iterator[tuple[Producer, Consumer]]:
    """Run one of the services, warm, on empty tables; yield a producer and a reader of events."""
    empty_tables(stack.env())
    env = stack.env() | stack.part("service").env
    stack.supervisor.spawn("service", [sys.executable, "-m", module], env)
    producer = connect(stack.env()["KAFKA_BOOTSTRAP_SERVERS"])
    warm_up = range(FIRST - 100, FIRST)
    with follow(stack, EVENTS) as events:
        send(producer, INPUT_TOPIC, warm_up)
        read_moments(events, warm_up)
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
