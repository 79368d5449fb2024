"""`pipeline bench --peers`: every arm in turn, round by round, as a table and as pages."""

import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from contract.samples import Sample
from lab.environment import describe_machine, make_topic, throwaway_stack
from lab.peers.arms import ARMS, TEMPLATE, Arm
from lab.peers.environments import LeftOutError
from lab.peers.measure import (
    LATENCY_SECONDS,
    RATES,
    Kill,
    Load,
    Speed,
    make_orders,
    measure_kill,
    measure_loads,
    measure_speed,
    trial,
)
from lab.peers.page import write
from lab.peers.versions import versions_of
from ops.settings import Settings
from ops.stack.stack import Stack, Step
from ops.stack.supervisor import StackError

FOLDER = "bench-peers"
PARTS = ("postgres", "kafka", "connect", "service")
PARTITIONS = 3
FEWEST_ORDERS = 100  # fewer have no p99
BATCHES = len(RATES) + 2  # of orders, in each round of an arm: every rate, the speed, the kill
Row = dict[str, Any]
Pythons = Mapping[str, Path]


class Plan(NamedTuple):
    """How much is measured; the same seed gives the same orders and kills."""

    orders: int
    rounds: int
    seed: int


def peers(
    settings: Settings,
    step: Step,
    only: Sequence[str],
    plan: Plan,
    output: Path | None,
) -> Row:
    """Measure the chosen arms on one throwaway stack; pages and JSON are beside its logs, too."""
    chosen = choose(only, plan.orders)
    pythons, left_out = prepare(settings, step, chosen)
    arms = [arm for arm in chosen if arm.name in pythons]
    with throwaway_stack(settings, step, FOLDER, PARTS, services=1, adopt="outbox") as stack:
        machine = describe_machine(stack.env())
        stop_template(stack, arms)
        trials, failed = measure_all(stack, step, arms, pythons, plan)
        folder = stack.settings.run_dir
    document = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine,
        "command": shlex.join(["pipeline", *sys.argv[1:]]),
        **plan._asdict(),
        "arms": [summarize(arm, trials[arm.name]) for arm in arms if arm.name not in failed],
        "left_out": left_out | failed,
        "trials": trials,
    }
    file = save(folder, document)
    write(document, file.with_suffix(".md"))
    if output:
        write(document, output)
    return document | {"file": str(file)}


def measure_all(
    stack: Stack,
    step: Step,
    arms: Sequence[Arm],
    pythons: Pythons,
    plan: Plan,
) -> tuple[dict[str, list[Row]], dict[str, str]]:
    """Return the trials of each arm, which take turns, and why some have no number.

    A peer that fails once is left out from then on; where this template fails, so does the run.
    """
    trials: dict[str, list[Row]] = {arm.name: [] for arm in arms}
    failed: dict[str, str] = {}
    for number in range(plan.rounds):
        for arm in arms:
            if arm.name in failed:
                continue
            try:
                row = measure(stack, step, arm, pythons[arm.name], plan, number)
            except StackError as failure:
                if is_ours(arm.name):
                    raise
                reason, _, _logs = str(failure).partition(";")
                failed[arm.name] = f"in round {number + 1}, {reason}"
            else:
                trials[arm.name].append(row)
    return trials, failed


def choose(only: Sequence[str], orders: int) -> list[Arm]:
    """Return the arms that were asked for, or all; refuse what is wrong before anything starts."""
    unknown = [name for name in only if name not in ARMS]
    if unknown:
        raise StackError(f"--only: there is no arm {unknown[0]!r}: choose among {list(ARMS)}")
    if orders < FEWEST_ORDERS:
        raise StackError(f"--orders: {orders} are too few for a p99: give {FEWEST_ORDERS} or more")
    return [arm for name, arm in ARMS.items() if name in (only or ARMS)]


def prepare(settings: Settings, step: Step, arms: Sequence[Arm]) -> tuple[Pythons, dict[str, str]]:
    """Return the Python of each arm, and why those that have none are left out."""
    cache = settings.jars.with_name("peers")
    pythons: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    for arm in arms:
        with step(f"environment of {arm.name}"):
            try:
                pythons[arm.name] = arm.python(cache)
            except LeftOutError as reason:
                left_out[arm.name] = str(reason)
    if not pythons:
        raise StackError(f"no arm can be set up: {left_out}")
    return pythons, left_out


def stop_template(stack: Stack, arms: Sequence[Arm]) -> None:
    """Stop what every arm starts for itself, and make the topics of the peers."""
    stack.stop("service")
    stack.stop("connect")
    servers = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    for topic in {arm.topic for arm in arms if not is_ours(arm.name)}:
        make_topic(servers, topic, PARTITIONS)


def measure(  # noqa: PLR0913, PLR0917 - what a trial consists of
    stack: Stack,
    step: Step,
    arm: Arm,
    python: Path,
    plan: Plan,
    number: int,
) -> Row:
    """Measure one arm in one round, each time from nothing."""
    orders, _, seed = plan
    first = 3 * number
    batch = BATCHES * number

    def make(rate: int) -> list[Sample]:
        count = min(LATENCY_SECONDS * rate, orders)
        return make_orders(seed, batch + 3 + RATES.index(rate), count)

    title = f"{arm.name}, round {number + 1}"
    with step(f"{title}: speed"), trial(stack, arm, python, first) as tried:
        speed = measure_speed(tried, make_orders(seed, batch + 1, orders))
    with step(f"{title}: latency"), trial(stack, arm, python, first + 1) as tried:
        loads = measure_loads(tried, make)
    with step(f"{title}: kill"), trial(stack, arm, python, first + 2) as tried:
        kill = measure_kill(tried, make_orders(seed, batch + 2, orders + 1), seed + number)
    return as_row(arm, speed, loads, kill)


def as_row(arm: Arm, speed: Speed, loads: Sequence[Load], kill: Kill) -> Row:
    """Return one trial for programs."""
    return {
        "arm": arm.name,
        **rounded(speed._asdict()),
        "loads": [rounded(load._asdict()) for load in loads],
        "kill": rounded(kill.counted._asdict() | {"seconds": kill.seconds}),
    }


def rounded(values: Mapping[str, float]) -> Row:
    """Return numbers as exact as they mean something."""
    return {name: round(value, 1) for name, value in values.items()}


def summarize(arm: Arm, rows: Sequence[Row]) -> Row:
    """Return the medians of an arm's rounds, what the kills left in all, and how it is set up."""
    kills = [row["kill"] for row in rows]
    names = ("lost", "doubled", "copies", "orders")
    counted = {name: sum(kill[name] for kill in kills) for name in names}
    return {
        "arm": arm.name,
        "what": arm.what,
        "versions": versions_of(arm),
        **medians(rows, Speed._fields),
        "loads": summarize_loads([load for row in rows for load in row["loads"]]),
        "kills": len(kills),
        "kill": counted | {"seconds": median(kill["seconds"] for kill in kills)},
        "differs": list(arm.differs),
        "configuration": dict(arm.shown),
    }


def summarize_loads(loads: Sequence[Row]) -> list[Row]:
    """Return the medians at each rate, up to the first that is more than the arm can take."""
    found = []
    for rate in RATES:
        at_rate = [load for load in loads if load["rate"] == rate]
        if not at_rate:
            break
        load = Load(**medians(at_rate, Load._fields))
        found.append(load._asdict() | {"keeps_up": load.keeps_up()})
        if not load.keeps_up():
            break
    return found


def medians(rows: Sequence[Row], names: Sequence[str]) -> Row:
    """Return the median of each of these numbers."""
    return {name: median(row[name] for row in rows) for name in names}


def save(folder: Path, document: Row) -> Path:
    """Write the result into a file that is named by the time."""
    file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    file.write_text(json.dumps(document, indent=2) + "\n")
    return file


def is_clean(document: Row) -> bool:
    """Return whether this template, where it was measured, has lost nothing."""
    ours = [row for row in document["arms"] if is_ours(row["arm"])]
    return not any(row["kill"]["lost"] for row in ours)


def is_ours(name: str) -> bool:
    """Return whether an arm is this template, in one of its ways."""
    return name.startswith(TEMPLATE)
