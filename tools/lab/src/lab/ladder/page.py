"""What people read of the ladder: lines on a terminal, a Markdown page, and a picture as HTML."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.ladder.steps import FAULTS, STEPS
from lab.pages import fill_template, write_pages

Row = dict[str, Any]
Cells = dict[tuple[int, str], Row]  # by step and fault
HOPS = ("orders", "rows", "events", "audit entries")
ZERO = "·"
MINUS = "\N{MINUS SIGN}"


def write(document: Row, output: Path) -> None:
    """Write the Markdown page to this file, and the picture beside it."""
    write_pages(render, document, output)


def render(template: str, document: Row, **more: str) -> str:
    """Return the document as a page, which loads nothing from anywhere else."""
    cells = by_step_and_fault(document)
    return fill_template(
        "lab.ladder",
        template,
        steps=STEPS,
        faults=measured_faults(cells),
        cells=cells,
        hops=HOPS,
        rates=[rate(cells, step) for step in range(len(STEPS))],
        basis=basis(document),
        verdict=verdicts(document),
        in_words=in_words,
        **more,
    )


def by_step_and_fault(document: Row) -> Cells:
    """Return the measured cells."""
    return {(row["step"], row["fault"]): row for row in document["cells"]}


def measured_faults(cells: Cells) -> dict[str, str]:
    """Return the titles of the faults for which there is a cell, in their usual order."""
    found = {fault for _, fault in cells}
    return {name: fault.title for name, fault in FAULTS.items() if name in found}


def in_words(row: Row | None) -> str:
    """Return the hops where something was doubled or lost."""
    if row is None:
        return "not measured"
    found = []
    for name, hop in row["per_10_000"].items():
        count = signs(hop)
        if count != ZERO:
            found.append(f"{name} {count}")
    return "<br>".join(found) or ZERO


def signs(hop: dict[str, float]) -> str:
    """Return doubled with a plus and lost with a minus."""
    parts = []
    if hop["doubled"]:
        parts.append(f"+{hop['doubled']:,.0f}")
    if hop["lost"]:
        parts.append(f"{MINUS}{hop['lost']:,.0f}")
    return " ".join(parts) or ZERO


def rate(cells: Cells, step: int) -> str:
    """Return the throughput of this step without a fault."""
    row = cells.get((step, "none"))
    return f"{row['orders_per_second']:,.0f}" if row else "not measured"


def verdicts(document: Row) -> str:
    """Return what reconciliation said, each different verdict once."""
    found = {row["verdict"] for row in document["cells"] if row["verdict"]}
    return "; ".join(sorted(found)) or "not run"


def basis(document: Row) -> str:
    """Return what the numbers belong to."""
    orders = f"{document['orders']:,} orders in each cell"
    times = "once" if document["times"] == 1 else f"{document['times']} times"
    return f"{orders}, each fault {times}, seed {document['seed']}; {document['machine']}"


def lines(document: Row) -> Iterator[str]:
    """Yield a block for each step with a line for each fault."""
    for step, title in enumerate(STEPS):
        rows = [row for row in document["cells"] if row["step"] == step]
        if rows:
            head = f"({step}) {title}"
            yield f"{head:<56}" + to_the_right([*HOPS, "orders/s"])
        for row in rows:
            yield line(row)
    legend = f"per 10,000 orders: + doubled, {MINUS} lost, {ZERO} neither"
    yield f"{legend}; {basis(document)}"


def line(row: Row) -> str:
    """Return one cell as a line."""
    title = FAULTS[row["fault"]].title
    counts = [signs(row["per_10_000"][hop]) for hop in HOPS]
    counts.append(f"{row['orders_per_second']:,.0f}")
    verdict = f"  {row['verdict']}" if row["verdict"] else ""
    return f"    {title:<52}" + to_the_right(counts) + verdict


def to_the_right(columns: list[str]) -> str:
    """Return columns of one width."""
    return "".join(f"{column:>14}" for column in columns)
