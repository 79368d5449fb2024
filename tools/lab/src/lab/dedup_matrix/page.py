"""What people read of the dedup matrix: lines on a terminal, a Markdown page, a picture as HTML."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
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
KINDS = ("effects", "events", "requests")
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
        in_columns=lambda cells: " | ".join(map(in_words, cells)),
        alone=alone_columns(document),
        alone_rows=list(alone_rows(document)),
        counted=counted,
        in_brief_columns=lambda cells: " | ".join(map(in_brief, cells)),
        **more,
    )


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


def alone_columns(document: Row) -> list[Any]:
    """Return the columns without Postgres that were tried."""
    if not document["alone"]:
        return []
    from lab.dedup_matrix.alone import COLUMNS  # noqa: PLC0415 - its extra may be deleted

    tried = {cell["column"] for cell in document["alone"]}
    return [column for name, column in COLUMNS.items() if name in tried]


def alone_rows(document: Row) -> Iterator[tuple[str, list[Row]]]:
    """Yield the title of each anomaly with a cell for each column without Postgres."""
    for anomaly, cells in groupby(document["alone"], itemgetter("anomaly")):
        yield ANOMALIES[anomaly].title, list(cells)


def counted(cell: Row) -> str:
    """Return what there are too many of, and what never was."""
    words = []
    for kind in KINDS:
        doubled, lost = cell[kind]["doubled"], cell[kind]["lost"]
        if doubled:
            words.append(f"+{doubled} {singular(kind, doubled)}")
        if lost:
            words.append(f"{MINUS}{lost} {singular(kind, lost)}")
    return ", ".join(words)


def in_brief(cell: Row) -> str:
    """Return the verdict, and behind it what was counted."""
    return ": ".join(filter(None, (cell["verdict"], counted(cell))))


def singular(kind: str, count: int) -> str:
    """Return the name of a kind as it stands behind this count."""
    return kind.removesuffix("s") if count == 1 else kind


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
        counts = [f"{count:,} {server}" for server, count in value.items()]
        return " + ".join(counts)
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
    for number, column in enumerate(alone_columns(document)):
        yield f"DynamoDB alone: {column.title}"
        for title, row in alone_rows(document):
            yield f"    {title:<56}{in_brief(row[number])}"
    yield f"+ effects too many, {MINUS} effects that never were; {basis(document)}"
