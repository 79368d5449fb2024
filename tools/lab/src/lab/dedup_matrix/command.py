"""`pipeline dedup-matrix`: every anomaly on every dedup store, and what each store costs."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from lab.dedup_matrix import cost, page
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.candidate import Backends
from lab.dedup_matrix.environment import matrix_stack
from lab.dedup_matrix.stores import STORES
from lab.dedup_matrix.trial import Trial
from lab.environment import describe_machine
from ops.settings import Settings
from ops.stack.stack import Step
from ops.stack.supervisor import StackError
from service.dedup import stores as dedup_stores


class Cell(NamedTuple):
    """What one anomaly did to one store."""

    anomaly: str
    store: str
    verdict: str
    doubled: int
    lost: int
    declared: str  # keeps or breaks


def dedup_matrix(  # noqa: PLR0913, PLR0917 - one for each option
    settings: Settings,
    step: Step,
    stores: Sequence[str],
    anomalies: Sequence[str],
    rounds: int,
    output: Path | None,
) -> dict[str, Any]:
    """Run every chosen cell on one throwaway stack, then measure what the stores cost."""
    columns = choose("--stores", stores, [*STORES, *alone_columns()])
    names = [name for name in columns if name in STORES]
    alone_names = [name for name in columns if name not in STORES]
    chosen = choose("--anomalies", anomalies, ANOMALIES)
    cells: list[Cell] = []
    alone_cells: list[dict[str, Any]] = []
    with matrix_stack(settings, step) as (stack, backends):
        machine = describe_machine(stack.env())
        if names:
            cells = run_stores(backends, names, chosen, step)
        if alone_names:
            alone_cells = run_alone(backends, alone_names, chosen, step)
        costs = cost.measure(backends, names, rounds, step) if rounds and names else {}
    document = {
        "machine": machine,
        "rounds": rounds,
        "cells": [cell._asdict() for cell in cells],
        "alone": alone_cells,
        "costs": [{"store": name, **costs[name]._asdict()} for name in names if name in costs],
    }
    if output:
        page.write(document, output)
    return document


def alone_columns() -> list[str]:
    """Return the columns without Postgres, if the extra is here."""
    if "dynamodb" not in dedup_stores():
        return []
    from lab.dedup_matrix.alone import COLUMNS  # noqa: PLC0415 - it may be deleted

    return list(COLUMNS)


def run_stores(
    backends: Backends, names: Sequence[str], anomalies: Sequence[str], step: Step
) -> list[Cell]:
    """Run every cell of these stores."""
    cells: list[Cell] = []
    for anomaly in anomalies:
        with step(ANOMALIES[anomaly].title):
            cells += run_all(backends, names, anomaly)
    return cells


def run_alone(
    backends: Backends, names: Sequence[str], anomalies: Sequence[str], step: Step
) -> list[dict[str, Any]]:
    """Run every cell of these columns, which are without Postgres."""
    from lab.dedup_matrix.alone_cells import alone  # noqa: PLC0415 - as above

    cells: list[dict[str, Any]] = []
    with alone(backends, names) as run_row:
        for anomaly in anomalies:
            with step(f"without Postgres: {ANOMALIES[anomaly].title}"):
                cells += [cell.as_json() for cell in run_row(anomaly)]
    return cells


def run_all(backends: Backends, names: Sequence[str], anomaly: str) -> list[Cell]:
    """Run a row: an anomaly that takes time happens to all stores at once."""
    workers = len(names) if ANOMALIES[anomaly].takes_time else 1
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda name: run(backends, name, anomaly), names))


def run(backends: Backends, name: str, anomaly: str) -> Cell:
    """Run one cell."""
    trial = Trial(backends, STORES[name])
    ANOMALIES[anomaly].happen(trial)
    verdict = trial.verdict()
    return Cell(
        anomaly=anomaly,
        store=name,
        verdict=verdict.word,
        doubled=verdict.doubled,
        lost=verdict.lost,
        declared="breaks" if anomaly in STORES[name].breaks else "keeps",
    )


def choose(option: str, asked: Sequence[str], known: Collection[str]) -> list[str]:
    """Return what was asked for in our order, or all; refuse an unknown name before we start."""
    unknown = [name for name in asked if name not in known]
    if unknown:
        names = ", ".join(unknown)
        raise StackError(f"{option}: there is no {names}: choose among {', '.join(known)}")
    return [name for name in known if name in asked or not asked]


def is_as_declared(document: dict[str, Any]) -> bool:
    """Return whether each store survives what it should, and nothing else."""
    return all(
        (cell["verdict"] == "survives") == (cell["declared"] == "keeps")
        for cell in [*document["cells"], *document["alone"]]
    )
