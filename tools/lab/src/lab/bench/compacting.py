"""How long a batch of the landing takes while the lake is compacted, and while it is not."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count, islice
from pathlib import Path
from statistics import median, quantiles
from threading import Event

from confluent_kafka import Producer

from contract.names import INPUT_TOPIC
from lab.bench.landed import RATE, running_landing
from lab.bench.latency import wait_for_each
from lab.bench.numbers import RATIO, Number, Target, divide
from lab.bench.running import running_service
from lab.reference_orders import FIRST, send
from ops.stack.stack import Stack
from ops.stack.supervisor import until
from spark.lake.checkpoint import checkpoint_path

SECONDS = 60
COMMITTED_SECONDS = 120  # a landing whose batch takes as long as this is broken
WHAT = f"batch of the landing, {RATE}/s: p95"
ALONE = "alone"
BESIDE = "beside compact"
AT_MOST = 1.2  # times as long as alone

Around = Callable[[Stack], AbstractContextManager[object]]  # what goes on meanwhile


def measure(stack: Stack, _orders: int, rounds: int) -> list[Number]:
    """Return the p95 of both, and the ratio; the landing goes on from round to round."""
    arms: dict[str, Around] = {ALONE: nullcontext, BESIDE: compacting}
    p95s: dict[str, list[float]] = {arm: [] for arm in arms}
    numbers = count(FIRST)  # no order twice: a repeat has no event
    with running_landing(stack), running_service(stack, "service") as (producer, _):
        checkpoint = Path(checkpoint_path(stack.env()["DELTA_ROOT"]))
        for n in range(1, rounds + 1):
            for arm, around in arms.items():
                with stack.step(f"compacting: {arm}, round {n} of {rounds}"), around(stack):
                    seconds = measure_batches(producer, numbers, checkpoint)
                p95s[arm].append(quantiles(seconds, n=20)[18])
    ratios = divide(p95s[ALONE], p95s[BESIDE])
    target = Target(goal=f">= {1 / AT_MOST:.2f}")
    return [
        *(
            Number("compacting", f"{WHAT}, {arm}", median(values), "s", rounds=values)
            for arm, values in p95s.items()
        ),
        Number("compacting", f"{ALONE} / {BESIDE}", median(ratios), RATIO, *target, ratios),
    ]


@contextmanager
def compacting(stack: Stack) -> Iterator[None]:
    """Compact the lake in one run after another: there is always one at work."""
    is_over = Event()

    def compact_until_over() -> None:
        while not is_over.is_set():
            stack.pass_through(["spark.compact"], drop, drop)

    with ThreadPoolExecutor(1) as background:
        runs = background.submit(compact_until_over)
        try:
            yield
        finally:
            is_over.set()
        runs.result()  # raises what a run has raised


def drop(_line: str) -> None:
    """Take a line that nobody reads."""


def measure_batches(producer: Producer, numbers: Iterator[int], checkpoint: Path) -> list[float]:
    """Send orders evenly; return the seconds of each batch that has begun meanwhile."""
    started = time.time()
    first = time.perf_counter()
    due = [first + n / RATE for n in range(SECONDS * RATE)]
    send(producer, INPUT_TOPIC, wait_for_each(islice(numbers, len(due)), due))
    return read_batches(checkpoint, started, time.time())


def read_batches(checkpoint: Path, start: float, stop: float) -> list[float]:
    """Return the seconds of the batches that have begun in this time, once all have ended.

    Spark writes a file when a batch begins, and one when it has ended.
    """
    begun = {
        file.name: file.stat().st_mtime
        for file in checkpoint.glob("offsets/[0-9]*")
        if start <= file.stat().st_mtime <= stop
    }
    ends = [checkpoint / "commits" / name for name in begun]

    def have_all_ended() -> bool:
        return all(file.exists() for file in ends)

    assert until(have_all_ended, COMMITTED_SECONDS), (
        f"batches of {sorted(begun)} are not in {checkpoint / 'commits'}: see the log of land"
    )
    return [file.stat().st_mtime - begun[file.name] for file in ends]
