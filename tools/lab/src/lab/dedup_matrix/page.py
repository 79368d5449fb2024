"""What people read of the dedup matrix: lines on a terminal, a Markdown page, a picture as HTML."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.bench.numbers import short
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.stores import STORES
from lab.pages import fill_template, write_pages

Row = dict[str, Any]
COSTS = {
    "requests": "requests for 500 messages",
    "bytes": "bytes kept for a message",
    "speed": "speed, default = 1",
}
MINUS = "\N{MINUS SIGN}"


def write(document: Row, output: Path) -> None:
    """Write the Markdown page to this file, and the picture beside it."""
    write_pages(render, document, output)


def render(template: str, document: Row, **more: str) -> str:
    """Return the document as a page, which loads nothing from anywhere else."""
    return fill_template(
        "lab.dedup_matrix",
        template,
        stores=[STORES[name] for name in cells_by_store(document)],
        rows=list(rows(document)),
        costs=list(costs_by_kind(document)),
        basis=basis(document),
        in_columns=in_columns,
        **more,
    )


def in_columns(cells: list[Row]) -> str:
    """Return the cells of a row of the Markdown page."""
    return " | ".join(in_words(cell) for cell in cells)


def cells_by_store(document: Row) -> dict[str, list[Row]]:
    """Return the cells of each store that was tried, in the usual order of the stores."""
    found: dict[str, list[Row]] = {name: [] for name in STORES}
    for cell in document["cells"]:
        found[cell["store"]].append(cell)
    return {name: cells for name, cells in found.items() if cells}


def rows(document: Row) -> Iterator[tuple[str, list[Row]]]:
    """Yield the title of each anomaly with a cell for each store."""
    for cells in zip(*cells_by_store(document).values(), strict=True):
        anomaly = cells[0]["anomaly"]
        yield ANOMALIES[anomaly].title, list(cells)


def costs_by_kind(document: Row) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each kind of cost with a cost for each store."""
    costs = {row["store"]: row for row in document["costs"]}
    if costs:
        for kind, title in COSTS.items():
            yield title, [price(kind, costs[name][kind]) for name in cells_by_store(document)]


def in_words(cell: Row) -> str:
    """Return the verdict, and what was counted."""
    words = [cell["verdict"]]
    if cell["doubled"]:
        words.append(f"+{cell['doubled']}")
    if cell["lost"]:
        words.append(f"{MINUS}{cell['lost']}")
    return " ".join(words)


def price(kind: str, value: Any) -> str:
    """Return a cost as people read it."""
    if kind == "requests":
        return " + ".join(f"{count:,} {server}" for server, count in value.items())
    return short(value) if kind == "bytes" else f"{value:.2g}"


def basis(document: Row) -> str:
    """Return what the numbers belong to."""
    machine: str = document["machine"]
    rounds = document["rounds"]
    return f"speeds are medians of {rounds} rounds; {machine}" if rounds else machine


def lines(document: Row) -> Iterator[str]:
    """Yield a block for each store with a line for each anomaly and each cost."""
    costs = {row["store"]: row for row in document["costs"]}
    for name, cells in cells_by_store(document).items():
        yield STORES[name].title
        for cell in cells:
            title = ANOMALIES[cell["anomaly"]].title
            yield f"    {title:<56}{in_words(cell)}"
        if name in costs:
            for kind, title in COSTS.items():
                yield f"    {title:<56}{price(kind, costs[name][kind])}"
    yield f"+ effects too many, {MINUS} effects that never were; {basis(document)}"
