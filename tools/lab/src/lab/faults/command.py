"""`pipeline faults`: the chosen cells in slices, on one stack for as long as it serves."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from lab.environment import describe_machine
from lab.faults.cells import Cell, all_cells
from lab.faults.facts import Record, Sent
from lab.faults.inspection import inspect, subjects
from lab.faults.judge import Finding
from lab.faults.page import read_before, write
from lab.faults.results import Inspection, Results, differences, is_good, run_name
from lab.faults.site import Site, own_disks, running_site
from lab.faults.soak import soak
from lab.faults.trial import Run, run_cell
from ops.progress import Note
from ops.settings import Settings
from ops.stack.supervisor import StackError

Step = Callable[[str], AbstractContextManager[Note]]
DISK_FAULTS = ("disk.full", "disk.read-only")


class Choice(NamedTuple):
    """What the user has asked for."""

    only: Sequence[str] = ()
    seed: int | None = None
    seeds: int | None = None  # at most
    minutes: float | None = None  # of one slice
    resume: bool = False
    output: Path | None = None


def faults(settings: Settings, step: Step, choice: Choice) -> dict[str, Any]:
    """Run what is to be run and was not yet, and return what all of it has shown."""
    cells = choose_cells(settings, choice.only)
    seeds = {cell.name: choose_seeds(cell, choice) for cell in cells}
    results = Results(results_file(settings, choice.output))
    if choice.resume:
        results.load()
    begins_anew = not choice.resume
    minutes = float("inf") if choice.minutes is None else choice.minutes
    deadline = time.monotonic() + 60 * minutes
    before = read_before(choice.output)
    machine = str(before.get("machine", ""))
    while time.monotonic() < deadline and any(left(cells, seeds, results)):
        with running_site(settings, step) as site:
            if begins_anew:  # not before: another run may be at work on that file
                results.begin_anew()
                begins_anew = False
            machine = describe_machine(site.stack.env())
            wanted = list(left(cells, seeds, results))
            run_slice(site, step, wanted, results, deadline)
    table = results.table(cells, seeds)
    document = {
        "at": today(),
        "machine": machine,
        "cells": table,
        "verdicts": sorted({inspection.verdict for inspection in results.inspections}),
        "differences": list(differences(before.get("cells", []), table)),
        "soak": before.get("soak"),
    }
    if choice.output:
        write(document, choice.output)
    return document


def soak_for(settings: Settings, step: Step, choice: Choice, seconds: float) -> dict[str, Any]:
    """Run a mixture of the chosen cells for so long; the page keeps its cells."""
    cells = choose_cells(settings, choice.only)
    before = read_before(choice.output)
    with running_site(settings, step, "soak") as site:
        machine = describe_machine(site.stack.env())
        found = soak(site, cells, seconds, choice.seed or 1, step)
    found |= {"at": today(), "machine": machine}
    nothing_else = {"at": today(), "machine": machine, "cells": [], "verdicts": []}
    document = nothing_else | before | {"differences": [], "soak": found}
    if choice.output:
        write(document, choice.output)
    return document


def results_file(settings: Settings, page: Path | None) -> Path:
    """Return where the runs are kept: beside their page, so that another machine may go on."""
    if page:
        return page.with_suffix(".jsonl")
    return settings.run_dir / "faults" / "results.jsonl"


def today() -> str:
    """Return the date."""
    return datetime.now(UTC).date().isoformat()


def choose_cells(settings: Settings, only: Sequence[str]) -> list[Cell]:
    """Return the cells of these names, or all that this machine can run."""
    cells = all_cells()
    if not only:
        return [cell for cell in cells if own_disks(settings) or not needs_root(cell)]
    chosen = [cell for cell in cells if any(is_meant(cell, name) for name in only)]
    if not chosen:
        names = ", ".join(only)
        raise StackError(f"--only: there is no cell {names}: pipeline faults --list shows all")
    if not own_disks(settings) and any(map(needs_root, chosen)):
        raise StackError("--only: a disk of its own can be mounted by root alone")
    return chosen


def list_lines(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a line for each cell, and the sum."""
    for cell in cells:
        yield f"{cell.name:<42}{cell.seeds:>4} seeds"
    runs = sum(cell.seeds for cell in cells)
    yield f"{len(cells)} cells, {runs:,} runs"


def is_meant(cell: Cell, name: str) -> bool:
    """Return whether a name or pattern, or the beginning of a name, means this cell."""
    return fnmatch(cell.name, name) or cell.name.startswith(f"{name}.")


def needs_root(cell: Cell) -> bool:
    """Return whether the cell fills a disk."""
    return cell.name.endswith(DISK_FAULTS)


def choose_seeds(cell: Cell, choice: Choice) -> list[int]:
    """Return the seeds with which a cell is run."""
    if choice.seed is not None:
        return [choice.seed]
    count = min(cell.seeds, choice.seeds) if choice.seeds else cell.seeds
    return list(range(1, count + 1))


def left(
    cells: Sequence[Cell], seeds: dict[str, list[int]], results: Results
) -> Iterator[tuple[Cell, int]]:
    """Yield the runs that are still to be done."""
    for cell in cells:
        for seed in seeds[cell.name]:
            if (cell.name, seed) not in results.runs:
                yield cell, seed


def run_slice(
    site: Site,
    step: Step,
    wanted: Iterable[tuple[Cell, int]],
    results: Results,
    deadline: float,
) -> None:
    """Run cell by cell on this stack until the deadline, then inspect all; end if it breaks."""
    done: list[tuple[Run, list[Sent]]] = []
    for cell, of_cell in groupby(wanted, lambda one: one[0]):
        if time.monotonic() > deadline:
            break
        with step(cell.name) as note:
            for _, seed in of_cell:
                if time.monotonic() > deadline:
                    break
                note(f"seed {seed}")
                try:
                    done.append(run_cell(site, cell, seed))
                except StackError as failure:
                    results.add(broken_run(cell, seed, failure))
                    results.inspected(Inspection([(cell.name, seed)], "the stack broke", {}))
                    return
                results.add(done[-1][0])
    if done:
        with step(f"inspect {len(done)} runs") as note:
            everything = [one for _, sent in done for one in sent]
            verdict, findings = inspect(site, everything, note)
        results.inspected(attribute(verdict, findings, done, site.observer.records))


def broken_run(cell: Cell, seed: int, failure: StackError) -> Run:
    """Return a run after which the stack could not be brought back."""
    finding = Finding("I17", "stack", str(failure))
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Run(
        cell=cell.name,
        seed=seed,
        hits=1,
        findings=[finding],
        recovery_seconds=0.0,
        copies=0,
        revived=[],
        at=at,
    )


def attribute(
    verdict: str,
    findings: Sequence[Finding],
    done: Sequence[tuple[Run, list[Sent]]],
    records: Sequence[Record],
) -> Inspection:
    """Return which run each finding belongs to; what nobody knows belongs to the last."""
    names = [(run.cell, run.seed) for run, _ in done]
    owners: dict[str, str] = {}
    if findings:
        for run, sent in done:
            owners |= dict.fromkeys(subjects(sent, records), run_name(run.cell, run.seed))
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        owner = owners.get(finding.subject, run_name(*names[-1]))
        found.setdefault(owner, []).append(finding)
    return Inspection(names, verdict, found)


def is_clean(document: dict[str, Any]) -> bool:
    """Return whether every run was good, and there was one."""
    rows = [row for row in document["cells"] if row["runs"]]
    return bool(rows) and all(map(is_good, rows))
