"""`pipeline ladder`: the chosen steps under the chosen faults, as a table and as a page."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lab.environment import describe_machine
from lab.ladder.cell import Cell, measure
from lab.ladder.environment import ladder_stack
from lab.ladder.page import write
from lab.ladder.steps import FAULTS, STEPS, WHOLE, plan_faults, times
from ops.progress import Note
from ops.settings import Settings
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

Row = dict[str, Any]
GOOD = "nothing lost, nothing doubled"


def ladder(  # noqa: PLR0913, PLR0917 - one for each option
    settings: Settings,
    step: Callable[[str], AbstractContextManager[Note]],
    steps: Sequence[int],
    faults: Sequence[str],
    orders: int,
    seed: int,
    output: Path | None,
    *,
    resume: bool = False,
) -> dict[str, Any]:
    """Measure each chosen cell on one throwaway stack, or those that an ended run has left."""
    chosen = choose_cells(steps or range(len(STEPS)), faults or list(FAULTS), orders)
    file = settings.run_dir / "ladder.jsonl"
    run = {"orders": orders, "times": times(orders), "seed": seed}
    with ladder_stack(settings, step) as (stack, proxy):
        if not resume:  # not before: another run may be at work on that file
            file.unlink(missing_ok=True)
        rows = read_rows(file, run)
        machine = describe_machine(stack.env())
        for number, fault in chosen:
            if (number, fault) in rows:
                continue
            with step(f"step {number}, {FAULTS[fault].title}") as note:
                cell = measure(stack, proxy, number, fault, orders, seed)
                if number == WHOLE:
                    cell = cell._replace(verdict=reconcile(stack, note))
            rows[number, fault] = as_row(cell, orders)
            append_row(file, run | rows[number, fault])
    document = {"machine": machine, **run, "cells": [rows[name] for name in chosen]}
    if output:
        write(document, output)
    return document


def read_rows(file: Path, run: Row) -> dict[tuple[int, str], Row]:
    """Return the cells that were measured with the same orders and seed, by step and fault."""
    rows = {}
    lines = file.read_text().splitlines() if file.exists() else []
    for line in lines:
        row = json.loads(line)
        is_of_this_run = row.items() >= run.items()
        if is_of_this_run:
            rows[row["step"], row["fault"]] = row
    return rows


def append_row(file: Path, row: Row) -> None:
    """Keep one cell, so that a run that ends can be resumed."""
    with file.open("a") as stream:
        stream.write(json.dumps(row) + "\n")


def choose_cells(
    steps: Sequence[int],
    faults: Sequence[str],
    orders: int,
) -> list[tuple[int, str]]:
    """Return the cells that were asked for; refuse what is wrong before anything starts."""
    unknown_steps = [str(step) for step in steps if step not in range(len(STEPS))]
    if unknown_steps:
        raise StackError(f"--steps: there is no step {', '.join(unknown_steps)}: 0 to {WHOLE}")
    unknown_faults = [fault for fault in faults if fault not in FAULTS]
    if unknown_faults:
        names = ", ".join(unknown_faults)
        raise StackError(f"--faults: there is no {names}: choose among {', '.join(FAULTS)}")
    for fault in faults:
        plan_faults(fault, [""] * orders, 0)  # refuses too few orders
    return [(step, fault) for step in steps for fault in faults]


def reconcile(stack: Stack, note: Note) -> str:
    """Return the verdict of the template's own reconciliation."""
    printed: list[str] = []
    stack.pass_through(["spark.reconcile", "--land"], printed.append, note)
    return printed[-1].removeprefix("verdict: ")


def as_row(cell: Cell, orders: int) -> Row:
    """Return one cell for programs and pages: the counts, and the same for 10,000 orders."""
    counted = {name: hop._asdict() for name, hop in cell.hops.items()}
    scaled = {name: scale(hop, orders) for name, hop in counted.items()}
    return {
        "step": cell.step,
        "fault": cell.fault,
        "orders_per_second": round(cell.rate, 1),
        "counted": counted,
        "per_10_000": scaled,
        "verdict": cell.verdict,
    }


def scale(hop: dict[str, int], orders: int) -> dict[str, float]:
    """Return the counts of one hop for 10,000 orders."""
    return {kind: count * 10_000 / orders for kind, count in hop.items()}


def is_clean(document: dict[str, Any]) -> bool:
    """Return whether the last step, where it was measured, lost and doubled nothing."""
    whole = [row for row in document["cells"] if row["step"] == WHOLE]
    return all(is_clean_row(row) for row in whole)


def is_clean_row(row: dict[str, Any]) -> bool:
    """Return whether reconciliation and our own count agree that nothing was lost or doubled."""
    found = [count for hop in row["counted"].values() for count in hop.values()]
    return row["verdict"] == GOOD and not any(found)
