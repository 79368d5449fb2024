"""The whole chain with audit: its throughput, and the memory that the service takes."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psutil

from contract.names import INPUT_TOPIC
from lab.bench.numbers import NO_TARGET, Number, Target, compare
from lab.bench.running import read_moments, running_service
from lab.reference_orders import FIRST, send
from ops.positions import try_lag
from ops.stack.stack import Stack
from ops.stack.supervisor import until

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


def rate(stack: Stack, module: str, count: int, settings: Mapping[str, str] | None = None) -> float:
    """Return orders a second, from before the first is sent until the last event is read."""
    numbers = range(FIRST, FIRST + count)
    with running_service(stack, module, settings) as (producer, events):
        started = time.perf_counter()
        send(producer, INPUT_TOPIC, numbers)
        last = max(read_moments(events, numbers))
        return count / (last - started)


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
