"""What is measured of an arm: its speed, what it takes, its latency, what a kill of it leaves."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from contract.samples import Sample, make_order
from lab.peers.arms import Arm
from lab.peers.arrivals import Arrivals
from lab.peers.count import Count, count
from lab.peers.live import Live
from lab.peers.peer import WRITER
from lab.peers.relay import NAME
from lab.peers.takes import read_disk, read_log, watch_memory
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until

WARM_UP = 20
RATES = (50, 200, 500, 1000, 2000, 4000, 8000)  # orders a second, for latency
LATENCY_SECONDS = 20  # of each rate, if there are enough orders
KEEPS_UP = 0.9  # an arm that publishes less of a rate is saturated
SILENT_SECONDS = 60
# After a kill: a lease of a minute has to end, or a worker is missed by its group for five.
RECOVERY_SECONDS = 400
NOTE_SECONDS = 150  # Connect stores its offsets once a minute, if nobody says otherwise


class Speed(NamedTuple):
    """Orders a second, and what they took."""

    orders_per_second: float
    memory_mb: float  # of what writes and what publishes, at most
    log_bytes: float  # of an order
    disk_bytes: float  # of an order, and still there afterwards


class Load(NamedTuple):
    """What became of orders at one rate: milliseconds from when one is due to its event."""

    rate: int
    reached: float  # events a second
    median: float
    p99: float

    def keeps_up(self) -> bool:
        """Return whether the arm can take that many."""
        return self.reached >= KEEPS_UP * self.rate


class Kill(NamedTuple):
    """What one kill of the relay left, and how long it took until all was published."""

    counted: Count
    seconds: float


class Trial(NamedTuple):
    """An arm that is warm: its parts, and what arrives on its topic."""

    stack: Stack
    live: Live
    arrivals: Arrivals

    def read_all(self, orders: Sequence[Sample]) -> None:
        """Read until each order has an event."""
        wanted = {order.order_id for order in orders}

        def missing() -> str:
            left = len(wanted - self.arrivals.first.keys())
            return f"{left} of {len(wanted)} events are missing" if left else ""

        self.read_until(missing, SILENT_SECONDS)

    def read_until(self, missing: Callable[[], str], silent_seconds: float) -> None:
        """Read until nothing is missing; report what is when nothing more comes."""
        has_all = self.arrivals.read_until(lambda: not missing(), silent_seconds)
        if has_all:
            return
        tails = map(self.stack.supervisor.tail, self.started())
        logs = "".join(tails)
        raise StackError(f"{missing()}, and nothing has come for {silent_seconds} s{logs}")

    def started(self) -> list[str]:
        """Return the processes whose logs may say why."""
        names = (WRITER, NAME, "service", "connect")
        return [name for name in names if self.stack.supervisor.identity(name)]

    def processes(self) -> list[int]:
        """Return the processes of the arm: what writes, and what publishes."""
        found = map(self.stack.supervisor.identity, self.started())
        return [identity.pid for identity in found if identity]


def make_orders(seed: int, number: int, orders: int) -> list[Sample]:
    """Return the orders of one measurement: the same for each arm, under ids of their own."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    return [make_order(rng, f"p{number}", n) for n in range(orders)]


@contextmanager
def trial(stack: Stack, arm: Arm, python: Path, number: int) -> Iterator[Trial]:
    """Run an arm from nothing, and have it warm."""
    servers = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    with (
        closing(Arrivals(servers, arm.topic)) as arrivals,
        arm.run(stack, python, number) as live,
    ):
        tried = Trial(stack, live, arrivals)
        warm_up = make_orders(0, 0, WARM_UP)
        for order in warm_up:
            live.send(order)
        tried.read_all(warm_up)
        yield tried


@contextmanager
def sending(live: Live, orders: Iterator[Sample]) -> Iterator[Future[None]]:
    """Send the orders beside the block."""

    def send() -> None:
        for order in orders:
            live.send(order)

    with ThreadPoolExecutor(1) as background:
        sent = background.submit(send)
        yield sent
        sent.result()


def measure_speed(tried: Trial, orders: Sequence[Sample]) -> Speed:
    """Hand over all orders; the time ends when the last event is read."""
    live = tried.live
    disk = read_disk(live.env)
    log = read_log(live.env)
    with watch_memory(tried.processes()) as megabytes:
        started = time.perf_counter()
        with sending(live, iter(orders)):
            tried.read_all(orders)
        last = max(tried.arrivals.first[order.order_id] for order in orders)
        seconds = last - started
        until(lambda: live.waiting() == 0, SILENT_SECONDS)  # what is published is marked later
    log = read_log(live.env) - log
    disk = read_disk(live.env) - disk
    count = len(orders)
    return Speed(
        orders_per_second=count / seconds,
        memory_mb=max(megabytes),
        log_bytes=log / count,
        disk_bytes=disk / count,
    )


def measure_loads(tried: Trial, make: Callable[[int], Sequence[Sample]]) -> list[Load]:
    """Measure at one rate after the other, up to the first that is more than the arm can take."""
    loads = []
    for rate in RATES:
        load = measure_latency(tried, make(rate), rate)
        loads.append(load)
        if not load.keeps_up():
            break
    return loads


def measure_latency(tried: Trial, orders: Sequence[Sample], rate: int) -> Load:
    """Send each order when it is due, however late those before it are: the wait counts too."""
    start = time.perf_counter()
    due = [start + n / rate for n in range(len(orders))]
    with sending(tried.live, wait_for_each(orders, due)):
        tried.read_all(orders)
    came = [tried.arrivals.first[order.order_id] for order in orders]
    return describe_load(rate, due, came)


def describe_load(rate: int, due: Sequence[float], came: Sequence[float]) -> Load:
    """Return what became of orders by when they were due and when their events came."""
    delays = []
    for moment, then in zip(due, came, strict=True):
        seconds = then - moment
        delays.append(seconds * 1000)
    *_, p99 = quantiles(delays, n=100)
    span = max(came) - min(came)
    reached = (len(came) - 1) / span
    return Load(rate, reached, median(delays), p99)


def wait_for_each(orders: Sequence[Sample], due: Sequence[float]) -> Iterator[Sample]:
    """Yield each order when it is due."""
    for order, moment in zip(orders, due, strict=True):
        early = moment - time.perf_counter()
        time.sleep(max(0, early))
        yield order


def choose_moment(seed: int, orders: int) -> int:
    """Return after how many events the relay is killed: somewhere in the middle."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    return rng.randint(orders * 3 // 10, orders * 7 // 10)


def measure_kill(tried: Trial, orders: Sequence[Sample], seed: int) -> Kill:
    """Kill the relay once while orders come, start it again, and count when all has settled.

    It is killed when it has been at work for a while: it has stored how far it is. One more order
    is sent when all are written: where the log is read, its event says that everything before it
    was published, and again where it was published again.
    """
    *counted, last = orders
    live, arrivals = tried.live, tried.arrivals
    moment = WARM_UP + choose_moment(seed, len(counted))
    all_written = WARM_UP + len(counted)

    def unnoted() -> str:
        return "" if live.has_noted() else "the relay has not stored how far it is"

    def before_the_kill() -> str:
        left = moment - len(arrivals.first)
        return f"{left} events are missing before the kill" if left > 0 else ""

    def unwritten() -> str:
        left = all_written - live.written()
        return f"{left} orders were not written" if left > 0 else ""

    tried.read_until(unnoted, NOTE_SECONDS)
    with sending(live, iter(counted)):
        tried.read_until(before_the_kill, SILENT_SECONDS)
        tried.stack.kill(live.relay.name)
        killed = time.perf_counter()
        live.relay.again()
        tried.read_until(unwritten, SILENT_SECONDS)
    live.send(last)

    def is_settled() -> bool:
        return last.order_id in arrivals.first and live.waiting() == 0

    arrivals.read_until(is_settled, RECOVERY_SECONDS)
    arrivals.read_to_end(SILENT_SECONDS)
    found = [order.order_id for order in counted]
    seen = [arrivals.first[name] for name in found if name in arrivals.first]
    return Kill(count(found, arrivals.times), max([killed, *seen]) - killed)
