"""`pipeline ladder`: every step under every fault that was asked for, as a table, a document and a page."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lab.bench.place import describe
from lab.ladder.cell import Cell, measure
from lab.ladder.page import write
from lab.ladder.place import place
from lab.ladder.steps import FAULTS, STEPS, WHOLE, plan, times
from ops.progress import Note
from ops.settings import Settings
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

GOOD = "nothing lost, nothing doubled"


def ladder(  # noqa: PLR0913, PLR0917 - one for each option
    settings: Settings,
    step: Callable[[str], AbstractContextManager[Note]],
    steps: Sequence[int],
    faults: Sequence[str],
    orders: int,
    seed: int,
    output: Path | None,
) -> dict[str, Any]:
    """Measure each cell on a stack of its own; the same seed gives the same orders and the same strikes."""
    chosen = choose(steps or range(len(STEPS)), faults or list(FAULTS), orders)
    with place(settings, step) as (stack, proxy):
        about, cells = describe(stack.env()), list[Cell]()
        for number, fault in chosen:
            with step(f"step {number}, {FAULTS[fault].title}") as note:
                cell = measure(stack, proxy, number, fault, orders, seed)
                cells.append(
                    cell._replace(verdict=reconcile(stack, note)) if number == WHOLE else cell
                )
    document = {"machine": about, "orders": orders, "strikes": times(orders), "seed": seed}
    document["cells"] = [as_row(cell, orders) for cell in cells]
    if output:
        write(document, output)
    return document


def choose(steps: Sequence[int], faults: Sequence[str], orders: int) -> list[tuple[int, str]]:
    """The cells that were asked for; what is wrong with the question is told before anything is started."""
    if unknown := [str(name) for name in steps if name not in range(len(STEPS))]:
        raise StackError(f"--steps: there is no step {', '.join(unknown)}: 0 to {WHOLE}")
    if unknown := [name for name in faults if name not in FAULTS]:
        raise StackError(
            f"--faults: there is no {', '.join(unknown)}: choose among {', '.join(FAULTS)}"
        )
    for fault in faults:
        plan(fault, [""] * orders, 0)  # refuses too few orders
    return [(number, fault) for number in steps for fault in faults]


def reconcile(stack: Stack, note: Note) -> str:
    """The verdict of the template's own reconciliation."""
    said: list[str] = []
    stack.pass_through(["spark.reconcile", "--land"], said.append, note)
    return said[-1].removeprefix("verdict: ")


def as_row(cell: Cell, orders: int) -> dict[str, Any]:
    """One cell for programs and pages: what was counted, and how much that is per 10,000 orders."""
    counted = {name: hop._asdict() for name, hop in cell.hops.items()}
    scaled = {
        name: {kind: n * 10_000 / orders for kind, n in hop.items()}
        for name, hop in counted.items()
    }
    known = {"step": cell.step, "fault": cell.fault, "orders_per_second": round(cell.rate, 1)}
    return known | {"counted": counted, "per_10_000": scaled, "verdict": cell.verdict}


def is_clean(document: dict[str, Any]) -> bool:
    """Whether the last step, as far as it was climbed, has lost and doubled nothing, by both counts."""
    whole = [row for row in document["cells"] if row["step"] == WHOLE]
    return all(
        row["verdict"] == GOOD and not any(sum(h.values()) for h in row["counted"].values())
        for row in whole
    )
