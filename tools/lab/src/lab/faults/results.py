"""What the runs have shown, a JSON line for each, so that a slice that ends can be resumed.

A run counts once the inspection after it is there as well: until then nobody has seen the whole.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

from lab.faults.cells import Cell
from lab.faults.judge import Finding
from lab.faults.trial import Run

Row = dict[str, Any]
SHOWN = 5  # findings of one cell


class Inspection(NamedTuple):
    """What was found of these runs when everything was looked at once more."""

    runs: list[tuple[str, int]]
    verdict: str
    findings: dict[str, list[Finding]]  # by cell and seed, such as service.before-read.kill/3


class Results:
    """The file of one campaign."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.runs: dict[tuple[str, int], Run] = {}
        self.inspections: list[Inspection] = []

    def load(self) -> None:
        """Read what an earlier slice has left; leave out what was not inspected."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        waiting: dict[tuple[str, int], Run] = {}
        for line in lines:
            row = json.loads(line)
            if "cell" in row:
                run = Run(**row | {"findings": as_findings(row["findings"])})
                waiting[run.cell, run.seed] = run
                continue
            inspection = as_inspection(row)
            self.inspections.append(inspection)
            for name in inspection.runs:
                if name in waiting:
                    self.runs[name] = waiting.pop(name)

    def begin_anew(self) -> None:
        """Put an earlier campaign aside."""
        if self.file.exists():
            self.file.replace(self.file.with_suffix(".before.jsonl"))

    def add(self, run: Run) -> None:
        """Keep a run."""
        self.runs[run.cell, run.seed] = run
        self.append(run._asdict())

    def inspected(self, inspection: Inspection) -> None:
        """Keep an inspection."""
        self.inspections.append(inspection)
        self.append(inspection._asdict())

    def append(self, row: Row) -> None:
        """Write one line, whole."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def findings_of(self, run: Run) -> list[Finding]:
        """Return what was found in a run, at once or later."""
        name = run_name(run.cell, run.seed)
        later = [
            one for inspection in self.inspections for one in inspection.findings.get(name, [])
        ]
        return list(dict.fromkeys([*run.findings, *later]))

    def table(self, cells: Sequence[Cell], seeds: dict[str, list[int]]) -> list[Row]:
        """Return a row for each cell that was to be run, of the seeds that were asked for."""
        by_cell: dict[str, list[Run]] = defaultdict(list)
        for run in self.runs.values():
            was_asked_for = run.seed in seeds.get(run.cell, [])
            if was_asked_for:
                by_cell[run.cell].append(run)
        rows = []
        for cell in cells:
            wanted = len(seeds[cell.name])
            rows.append(self.row(cell, by_cell[cell.name], wanted))
        return rows

    def row(self, cell: Cell, runs: list[Run], wanted: int) -> Row:
        """Return what all runs of a cell have shown."""
        found = [finding for run in runs for finding in self.findings_of(run)]
        seconds = [run.recovery_seconds for run in runs]
        revived = {name for run in runs for name in run.revived}
        return {
            "cell": cell.name,
            "part": cell.part,
            "point": cell.point,
            "fault": cell.fault,
            "runs": len(runs),
            "wanted": wanted,
            "violations": sum(1 for run in runs if self.findings_of(run)),
            "struck": sum(1 for run in runs if run.hits),
            "hits": sum(run.hits for run in runs),
            "copies": sum(run.copies for run in runs),
            "p50": percentile(seconds, 50),
            "p99": percentile(seconds, 99),
            "revived": sorted(revived),
            "findings": found[:SHOWN],
            "repeat": repeat(cell, [run.seed for run in runs if self.findings_of(run)]),
        }


def as_findings(rows: list[list[str]]) -> list[Finding]:
    """Return findings as they were before they were written."""
    return [Finding(*row) for row in rows]


def as_inspection(row: Row) -> Inspection:
    """Return an inspection as it was before it was written."""
    runs = [(cell, seed) for cell, seed in row["runs"]]
    findings = {}
    for name, found in row["findings"].items():
        findings[name] = as_findings(found)
    return Inspection(runs, row["verdict"], findings)


def run_name(cell: str, seed: int) -> str:
    """Return the name of a run in the file."""
    return f"{cell}/{seed}"


def percentile(values: list[float], percent: int) -> float | None:
    """Return a percentile, or nothing of nothing."""
    if len(values) < 2:
        return values[0] if values else None
    return round(quantiles(values, n=100, method="inclusive")[percent - 1], 1)


def repeat(cell: Cell, failed: list[int]) -> str:
    """Return the command that runs the cell again, with a seed that has failed if there is one."""
    seed = failed[0] if failed else 1
    return f"pipeline faults --only {cell.name} --seed {seed}"


def is_good(row: Row) -> bool:
    """Return whether nothing was violated and the fault has struck in each run."""
    is_unharmed = row["violations"] == 0
    has_struck = row["struck"] == row["runs"]
    return is_unharmed and bool(has_struck)


def differences(before: Sequence[Row], now: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each cell that is not as it was in the run before."""
    known = {row["cell"]: row for row in before}
    for row in now:
        old = known.get(row["cell"])
        if not row["runs"]:
            continue
        if old is None or not old["runs"]:
            yield f"{row['cell']} is new"
            continue
        for name in ("violations", "struck", "runs"):
            if old[name] != row[name]:
                yield f"{row['cell']}: {name} {row[name]}, {old[name]} before"
        if is_slower(old["p50"], row["p50"]):
            yield f"{row['cell']}: recovers in {row['p50']} s, in {old['p50']} s before"
    gone = known.keys() - {row["cell"] for row in now}
    yield from (f"{name} is gone" for name in sorted(gone))


def is_slower(before: float, now: float) -> bool:
    """Return whether a time has grown by more than chance."""
    return now > 2 * before and now > before + 5
