"""How long an order takes from its producer to its event on the topic, at a steady rate."""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles

from contract.names import INPUT_TOPIC
from lab.bench.numbers import NO_TARGET, Number, Target
from lab.bench.running import read_moments, running_service
from lab.reference_orders import FIRST, send
from ops.stack.stack import Stack

SECONDS = 30
RATES = (50, 1000)  # orders a second
TARGETS = {
    (50, "median"): Target(goal="<= 45", must="<= 65"),
    (50, "p99"): Target(goal="<= 90", must="<= 130"),
    (1000, "p99"): Target(goal="<= 150", must="<= 400"),
}

Summary = dict[str, float]  # milliseconds by the name of the figure


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the figures of each rate; the rates take turns."""
    found: dict[int, list[Summary]] = {rate: [] for rate in RATES}
    for n in range(1, rounds + 1):
        for rate in RATES:
            count = min(SECONDS * rate, orders)
            with stack.step(f"latency: {rate:,} orders/s, round {n} of {rounds}"):
                delays = measure_delays(stack, rate, count)
            found[rate].append(summarize(delays))
    return [number for rate in RATES for number in list_figures(rate, found[rate])]


def measure_delays(stack: Stack, rate: int, count: int) -> list[float]:
    """Return the milliseconds from when each order was due until its event was read.

    An order is sent when it is due, however late the ones before it are: the wait counts too.
    """
    numbers = range(FIRST, FIRST + count)
    with (
        running_service(stack, "service") as (producer, events),
        ThreadPoolExecutor(1) as background,
    ):
        start = time.perf_counter()
        due = [start + n / rate for n in range(count)]
        sending = background.submit(send, producer, INPUT_TOPIC, wait_for_each(numbers, due))
        arrived = read_moments(events, numbers)
        sending.result()
    return [(came - then) * 1000 for came, then in zip(arrived, due, strict=True)]


def wait_for_each(numbers: Iterable[int], due: Sequence[float]) -> Iterator[int]:
    """Yield each number when it is due."""
    for number, moment in zip(numbers, due, strict=True):
        early = moment - time.perf_counter()
        time.sleep(max(0, early))
        yield number


def summarize(delays: Sequence[float]) -> Summary:
    """Return the figures of one round."""
    p99 = quantiles(delays, n=100)[98]
    return {"median": median(delays), "p99": p99, "max": max(delays)}


def list_figures(rate: int, rounds: Sequence[Summary]) -> list[Number]:
    """Return each figure of a rate as the median of its rounds."""
    numbers = []
    for figure in rounds[0]:
        values = [summary[figure] for summary in rounds]
        what = f"produced → event on the topic, {rate:,}/s: {figure}"
        target = TARGETS.get((rate, figure), NO_TARGET)
        numbers.append(Number("latency", what, median(values), "ms", *target, values))
    return numbers
