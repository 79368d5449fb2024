"""`pipeline truth-table`: every anomaly on every dedup store, what each store costs, and a page of both."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from lab.bench.place import describe
from lab.dedup_matrix import cost, page
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.columns import STORES
from lab.dedup_matrix.place import place as own_place
from lab.dedup_matrix.stores import Place
from lab.dedup_matrix.trial import Trial
from ops.progress import Note
from ops.settings import Settings
from ops.stack.supervisor import StackError


class Cell(NamedTuple):
    """What one anomaly did to one store."""

    anomaly: str
    store: str
    verdict: str
    doubled: int
    lost: int
    declared: str  # what the store says of itself


def truth_table(  # noqa: PLR0913, PLR0917 - one for each option
    settings: Settings,
    step: Callable[[str], AbstractContextManager[Note]],
    stores: Sequence[str],
    anomalies: Sequence[str],
    rounds: int,
    output: Path | None,
) -> dict[str, Any]:
    """Run every cell on a stack of its own, then measure what the stores cost."""
    chosen = [name for name in STORES if name in named("--stores", stores, STORES)]
    laws = [law for law in ANOMALIES if law in named("--anomalies", anomalies, ANOMALIES)]
    with own_place(settings, step) as (stack, place):
        about, cells = describe(stack.env()), list[Cell]()
        for law in laws:
            with step(ANOMALIES[law].title):
                cells += run_all(place, chosen, law)
        costs = cost.measure(place, chosen, rounds, step) if rounds else {}
    document = {"machine": about, "rounds": rounds, "cells": [cell._asdict() for cell in cells]}
    document["costs"] = [
        {"store": name, **found._asdict()} for name, found in costs.items() if name in chosen
    ]
    if output:
        page.write(document, output)
    return document


def run_all(place: Place, names: Sequence[str], law: str) -> list[Cell]:
    """A row: what takes its time happens to all stores at once."""
    with ThreadPoolExecutor(len(names) if ANOMALIES[law].takes_time else 1) as workers:
        return list(workers.map(lambda name: run(place, name, law), names))


def run(place: Place, name: str, law: str) -> Cell:
    """One cell: the store's workers under the anomaly, and what it says of itself."""
    trial = Trial(place, STORES[name])
    ANOMALIES[law].happen(trial)
    verdict = trial.verdict()
    declared = "breaks" if law in trial.store.breaks else "keeps"
    return Cell(law, name, verdict.word, verdict.doubled, verdict.lost, declared)


def named(option: str, asked: Sequence[str], known: Sequence[str] | dict[Any, Any]) -> list[str]:
    """What was asked for, or everything; a name that nobody has is told before anything is started."""
    if unknown := [name for name in asked if name not in known]:
        raise StackError(
            f"{option}: there is no {', '.join(unknown)}: choose among {', '.join(known)}"
        )
    return list(asked or known)


def is_as_declared(document: dict[str, Any]) -> bool:
    """Whether each store keeps what it says, and breaks what it says."""
    return all(
        (cell["verdict"] == "survives") == (cell["declared"] == "keeps")
        for cell in document["cells"]
    )
