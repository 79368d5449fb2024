"""One to three workers on three partitions, and what it is that more of them cannot speed up."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from statistics import median

import psutil
from confluent_kafka.admin import AdminClient

from contract.names import INPUT_TOPIC
from lab.bench.numbers import NO_TARGET, Number, compare
from lab.bench.running import read_moments, running_service
from lab.environment import free_ports
from lab.reference_orders import FIRST, send
from ops.stack.stack import Stack
from ops.stack.supervisor import until

WORKERS = (1, 2, 3)
PARTITIONS = 3
SHARED_SECONDS = 60
BENCH = "bench"  # who sends the orders and reads the events
OTHERS = "other processes"  # not of the stack: where they are busy, no number means much
IDLE = "idle"
SHOWN = 4  # parts
FULL = 0.9  # of a core, or of all cores: more is hardly ever seen of what is saturated
WORKERS_WARM_UP = range(FIRST - 1000, FIRST - 100)


Usage = Mapping[str, float]  # by part, how many cores it kept busy on average


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of the chain with audit, and what is saturated by how many workers."""
    usages: dict[int, list[Usage]] = {count: [] for count in WORKERS}
    arms = {name(count): partial(rate, stack, orders, count, usages[count]) for count in WORKERS}
    alone, *others = arms
    targets = {f"{other} / {alone}": NO_TARGET for other in others}
    numbers = compare("workers", arms, targets, rounds, stack.step)
    for count in WORKERS:
        numbers += describe(name(count), usages[count], psutil.cpu_count() or 1)
    return numbers


def name(count: int) -> str:
    """Return how an arm is called."""
    return "1 worker" if count == 1 else f"{count} workers"


def rate(stack: Stack, orders: int, count: int, usages: list[Usage]) -> float:
    """Return orders a second of so many workers, once the partitions are shared among them."""
    numbers = range(FIRST, FIRST + orders)
    with running_service(stack, "service") as (producer, events), more_workers(stack, count - 1):
        wait_until_shared(stack.env(), count)
        send(producer, INPUT_TOPIC, WORKERS_WARM_UP)
        read_moments(events, WORKERS_WARM_UP)
        with watched(stack, usages, psutil.cpu_count() or 1):
            started = time.perf_counter()
            send(producer, INPUT_TOPIC, numbers)
            last = max(read_moments(events, numbers))
    return orders / (last - started)


@contextmanager
def more_workers(stack: Stack, count: int) -> Iterator[None]:
    """Run so many more workers of the same group."""
    names = [f"service-{number}" for number in range(2, 2 + count)]
    ports = free_ports(count)
    for worker, port in zip(names, ports, strict=True):
        env = stack.env() | stack.part(worker).env | {"SERVICE_PORT": str(port)}
        stack.supervisor.spawn(worker, [sys.executable, "-m", "service"], env)
    yield
    for worker in names:
        stack.stop(worker)


def wait_until_shared(env: Mapping[str, str], count: int) -> None:
    """Wait until the group has so many members, and each of them has its share."""
    admin = AdminClient({"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"], "log_level": 0})
    group = env["GROUP_ID"]
    shares: list[int] = []

    def is_shared() -> bool:
        described = admin.describe_consumer_groups([group])[group].result(10)
        shares[:] = [len(member.assignment.topic_partitions) for member in described.members]
        all_are_there = len(shares) == count
        everybody_has_some = all(shares)
        nothing_is_left = sum(shares) == PARTITIONS
        return all_are_there and everybody_has_some and nothing_is_left

    assert until(is_shared, SHARED_SECONDS), (
        f"group {group} is not shared among {count} members within {SHARED_SECONDS} s: "
        f"they have {shares} partitions"
    )


@contextmanager
def watched(stack: Stack, usages: list[Usage], cores: int) -> Iterator[None]:
    """Add how many cores each part kept busy during the block, and how many were idle."""
    before = processor_seconds(stack)
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    after = processor_seconds(stack)
    usage = {part: (after[part] - used) / seconds for part, used in before.items()}
    usages.append(usage | {OTHERS: cores - sum(usage.values())})


def processor_seconds(stack: Stack) -> dict[str, float]:
    """Return the processor seconds of each part so far; all workers are one part."""
    seconds = {IDLE: idle_seconds(), BENCH: seconds_of(psutil.Process())}
    for process, identity in stack.supervisor.state().processes.items():
        part = "service" if process.startswith("service") else process
        first = psutil.Process(identity.pid)
        tree = (first, *first.children(recursive=True))
        seconds[part] = seconds.get(part, 0) + sum(map(seconds_of, tree))
    return seconds


def seconds_of(process: psutil.Process) -> float:
    """Return the processor seconds of one process; one that has just ended has none."""
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0


def idle_seconds() -> float:
    """Return the seconds in which the machine's cores had nothing to do, all cores together."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0))


def describe(arm: str, usages: Sequence[Usage], cores: int) -> list[Number]:
    """Return what is saturated, in words, then how many cores the busiest parts kept busy."""
    usual = {part: median(usage[part] for usage in usages) for part in usages[0]}
    busy = [cores - usage[IDLE] for usage in usages]
    whole = say(f"{arm}: {find_saturated(usual, cores)}", busy)
    found = [whole]
    for part in list_busiest(usual)[:SHOWN]:
        of_part = [usage[part] for usage in usages]
        found.append(say(f"{arm}: {part}", of_part))
    return found


def say(what: str, rounds: Sequence[float]) -> Number:
    """Return how many cores were busy as a line of the table."""
    return Number("workers", what, median(rounds), "cores", rounds=rounds)


def find_saturated(usage: Usage, cores: int) -> str:
    """Return what keeps more workers from being faster."""
    busiest, *_ = list_busiest(usage)
    if cores - usage[IDLE] >= FULL * cores:
        return f"all {cores} cores saturated, most by {busiest}"
    if usage[busiest] >= FULL:
        return f"{busiest} saturates a core"
    return "no core saturated, the parts wait"


def list_busiest(usage: Usage) -> list[str]:
    """Return the parts, the busiest first."""
    parts = usage.keys() - {IDLE}
    return sorted(parts, key=lambda part: usage[part], reverse=True)
