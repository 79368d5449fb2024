"""`pipeline bench`: the chosen arms as a table, and the same as JSON in a file."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab.bench import (
    against,
    audit,
    bare,
    chain,
    compacting,
    cost,
    flat,
    guarantees,
    landed,
    landing,
    latency,
    profile,
    reconcile,
    redelivery,
    workers,
    write,
)
from lab.bench.numbers import Number, lines
from lab.environment import connect_as_admin, describe_machine, throwaway_stack
from lab.reference_orders import BATCH
from ops.settings import Settings
from ops.stack.stack import Stack, Step
from ops.stack.supervisor import StackError
from service.logs import configure_logs

Measure = Callable[[Stack, int, int], list[Number]]

WITH_CONNECT: dict[str, Measure] = {
    "chain": chain.throughput,
    "bare": bare.measure,
    "guarantees": guarantees.measure,
    "latency": latency.measure,
    "workers": workers.measure,
    "landed": landed.measure,
    "landing": landing.measure,
    "compacting": compacting.measure,
    "memory": chain.memory,
}
WITHOUT_CONNECT: dict[str, Measure] = {
    "write": write.measure,
    "profile": profile.measure,
    "audit": audit.measure,
    "cost": cost.measure,
    "redelivery": redelivery.measure,
    "flat": flat.measure,
    "reconcile": reconcile.measure,
}
ARMS = [*WITH_CONNECT, *WITHOUT_CONNECT]
FEWEST_BATCHES = 8  # a naive arm gets a fortieth of the orders


def bench(  # noqa: PLR0913, PLR0917 - one for each option
    settings: Settings,
    step: Step,
    only: Sequence[str],
    orders: int,
    rounds: int,
    earlier: Path | None = None,
) -> dict[str, Any]:
    """Measure the chosen arms; the result is also written beside the logs of the stack.

    Where there is an earlier result, the ratios of both are compared.
    """
    unknown = set(only) - set(ARMS)
    if unknown:
        raise StackError(
            f"there is no arm {', '.join(sorted(unknown))}: choose among {', '.join(ARMS)}"
        )
    ratios = against.read_ratios(earlier, only) if earlier else {}
    configure_logs("error")
    batches = max(orders // BATCH, FEWEST_BATCHES)
    orders = batches * BATCH
    with throwaway_stack(settings, step, "bench", services=1) as stack:
        machine = describe_machine(stack.env())
        numbers = measure_all(stack, only or ARMS, orders, rounds)
    document = {
        "machine": machine,
        "orders": orders,
        "rounds": rounds,
        "numbers": [as_row(number) for number in numbers],
    }
    table = [*lines(numbers), f"medians of {rounds} rounds; {machine}"]
    if earlier:
        found = against.compare_with(ratios, numbers)
        document["against"] = against.as_document(earlier, found)
        table += against.lines(found)
    file = save(stack.settings.run_dir, document)
    return document | {"file": str(file), "lines": table}


def as_row(number: Number) -> dict[str, Any]:
    """Return a number for programs."""
    return number._asdict() | {"reached": number.reached(), "holds": number.holds()}


def measure_all(stack: Stack, chosen: Sequence[str], orders: int, rounds: int) -> list[Number]:
    """Measure what needs Kafka Connect first, then the rest without it."""
    numbers: list[Number] = []
    stack.stop("service")
    for name, measure in WITH_CONNECT.items():
        if name in chosen:
            numbers += named(name, measure(stack, orders, rounds))
    stop_connect(stack)
    for name, measure in WITHOUT_CONNECT.items():
        if name in chosen:
            numbers += named(name, measure(stack, orders, rounds))
    return numbers


def named(name: str, numbers: list[Number]) -> list[Number]:
    """Return the numbers of a measurement, which a later run finds again by its name."""
    strangers = {number.arm for number in numbers} - {name}
    assert not strangers, f"{name} returns numbers of {sorted(strangers)}"
    return numbers


def stop_connect(stack: Stack) -> None:
    """Stop Kafka Connect and drop its slots, which nobody reads any more."""
    stack.stop("connect")
    with connect_as_admin(stack.env()) as admin:
        admin.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots")


def is_good(document: dict[str, Any]) -> bool:
    """Return whether no must was missed, and no ratio has fallen; a goal may be missed."""
    missed = [number for number in document["numbers"] if number["holds"] is False]
    compared = document.get("against", {})
    fallen = compared.get("fallen")
    gone = compared.get("gone")
    return not (missed or fallen or gone)


def save(folder: Path, document: dict[str, Any]) -> Path:
    """Write the result into a file that is named by the time."""
    file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    file.write_text(json.dumps(document, indent=2) + "\n")
    return file
