"""What people read of the matrix: lines on a terminal, a Markdown page, and a picture as HTML."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.charts import make_charts
from lab.faults.results import is_good
from lab.pages import fill_template, write_pages

Row = dict[str, Any]
GOOD, BAD, UNSTRUCK, NOT_RUN = "good", "bad", "unstruck", "notrun"


def write(document: Row, output: Path) -> None:
    """Write the Markdown page to this file, the picture and the numbers beside it."""
    write_pages(render, document, output)
    rest = {name: value for name, value in document.items() if name != "cells"}
    head = json.dumps(rest).removesuffix("}")
    rows = ",\n".join(map(json.dumps, document["cells"]))
    text = f'{head}, "cells": [\n{rows}\n]}}\n'
    output.with_suffix(".json").write_text(text)


def read_before(output: Path | None) -> Row:
    """Return the run whose page is there already, or nothing."""
    if output is None or not output.with_suffix(".json").exists():
        return {}
    document: Row = json.loads(output.with_suffix(".json").read_text())
    return document


def render(template: str, document: Row, **more: str) -> str:
    """Return the document as a page, which loads nothing from anywhere else."""
    cells = document["cells"]
    return fill_template(
        "lab.faults",
        template,
        document=document,
        cells=cells,
        faults=list(dict.fromkeys(row["fault"] for row in cells)),
        grid=as_grid(cells),
        bad=[row for row in cells if state(row) in (BAD, UNSTRUCK)],
        idle=[row for row in cells if state(row) == NOT_RUN],
        total=totals(cells),
        state=state,
        charts=list(make_charts((document.get("soak") or {}).get("series", {}))),
        of_part=of_part,
        **more,
    )


def of_part(cells: Sequence[Row], part: str) -> Row:
    """Return the sums of one part, or of one of its points if that is named, too."""
    name, _, point = part.partition(".")
    own = [row for row in cells if row["part"] == name]
    if point:
        own = [row for row in own if row["point"] == point]
    states = {state(row) for row in own}
    worst_first = (BAD, UNSTRUCK, GOOD)
    worst = next((found for found in worst_first if found in states), NOT_RUN)
    return {**totals(own), "state": worst}


def soak_lines(soaked: Row) -> Iterator[str]:
    """Yield what an hour of mixtures has shown."""
    yield (
        f"soak: {soaked['runs']} runs, {soaked['orders']:,} records in {soaked['seconds']:,} s,"
        f" seed {soaked['seed']}; reconciliation: {soaked['verdict']}"
    )
    yield from (f"    {' '.join(finding)}" for finding in soaked["findings"])
    yield from (f"    did not strike: {name}" for name in soaked["unstruck"])
    yield from (f"    grows: {sentence}" for sentence in soaked["growing"])


def as_grid(cells: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """Return the cells of each part and point by their fault."""
    grid: dict[str, dict[str, Row]] = {}
    for row in cells:
        grid.setdefault(f"{row['part']} {row['point']}", {})[row["fault"]] = row
    return grid


def state(row: Row | None) -> str:
    """Return in a word what a cell has shown."""
    if row is None or not row["runs"]:
        return NOT_RUN
    if row["violations"]:
        return BAD
    return GOOD if is_good(row) else UNSTRUCK


def totals(cells: Sequence[Row]) -> dict[str, int]:
    """Return the sums over all cells."""
    sums = {
        name: sum(row[name] for row in cells)
        for name in ("runs", "wanted", "violations", "struck", "hits", "copies")
    }
    return {"cells": sum(1 for row in cells if row["runs"]), **sums}


def lines(document: Row) -> Iterator[str]:
    """Yield what differs from the run before, then a line for each cell, then the sums."""
    yield from document["differences"]
    yield f"{'cell':<42}{'runs':>6}{'violations':>12}{'hits':>8}{'p50 s':>8}{'p99 s':>8}"
    for row in document["cells"]:
        if row["runs"]:
            yield line(row)
            yield from (f"    {' '.join(finding)}" for finding in row["findings"])
            if not is_good(row):
                yield f"    {row['repeat']}"
    total = totals(document["cells"])
    yield (
        f"{total['cells']} cells, {total['runs']:,} of {total['wanted']:,} runs,"
        f" {total['violations']} violations, {total['runs'] - total['struck']} never struck;"
        f" reconciliation: {'; '.join(document['verdicts'])}"
    )


def line(row: Row) -> str:
    """Return one cell as a line."""
    columns = "{cell:<42}{runs:>6}{violations:>12}{hits:>8,}{p50:>8.1f}{p99:>8.1f}"
    text = columns.format_map(row)
    if is_good(row):
        return text
    return f"{text}  {state(row)}"
