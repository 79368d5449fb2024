"""What people read of the ladder: lines on a terminal, a page of Markdown, and a picture in a page of HTML."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from lab.ladder.steps import FAULTS, STEPS

Row = dict[str, Any]
HOPS = ("orders", "rows", "events", "audit entries")
ZERO = "·"


def write(document: Row, output: Path) -> None:
    """The Markdown page at this place, and the picture beside it."""
    output.write_text("\n".join(markdown(document, output.with_suffix(".html").name)) + "\n")
    output.with_suffix(".html").write_text(html(document))


def cells(document: Row) -> dict[tuple[int, str], Row]:
    """The measured cells by step and fault."""
    return {(row["step"], row["fault"]): row for row in document["cells"]}


def signs(hop: dict[str, float]) -> str:
    """Doubled with a plus, lost with a minus."""
    said = [
        f"{sign}{hop[kind]:,.0f}" for sign, kind in (("+", "doubled"), ("−", "lost")) if hop[kind]
    ]
    return " ".join(said) or ZERO


def lines(document: Row) -> Iterator[str]:
    """A block for each step, a line for each fault."""
    for step, title in enumerate(STEPS):
        rows = [row for row in document["cells"] if row["step"] == step]
        if rows:
            yield f"{f'({step}) {title}':<56}" + "".join(
                f"{name:>14}" for name in (*HOPS, "orders/s")
            )
        for row in rows:
            counts = [signs(row["per_10_000"][name]) for name in HOPS]
            verdict = f"  {row['verdict']}" if row["verdict"] else ""
            name, rate = FAULTS[row["fault"]].title, f"{row['orders_per_second']:,.0f}"
            yield f"    {name:<52}" + "".join(f"{cell:>14}" for cell in (*counts, rate)) + verdict
    yield f"per 10,000 orders: + doubled, − lost, {ZERO} neither; {basis(document)}"  # noqa: RUF001


def basis(document: Row) -> str:
    """What the numbers belong to."""
    known = (
        "{orders:,} orders in each cell, {strikes} strikes of each fault, seed {seed}; {machine}"
    )
    return known.format(**document)


def markdown(document: Row, picture: str) -> Iterator[str]:
    """The page; what a cell does not name was neither doubled nor lost."""
    found = cells(document)
    known = [fault for fault in FAULTS if any(name == fault for _, name in found)]
    yield from (
        files("lab.ladder").joinpath("page.md").read_text().format(picture=picture).splitlines()
    )
    yield ""
    yield "| step | orders/s | " + " | ".join(FAULTS[fault].title for fault in known) + " |"
    yield "| --- | ---: |" + " --- |" * len(known)
    for step, title in enumerate(STEPS):
        if rows := [found.get((step, fault)) for fault in known]:
            yield (
                f"| ({step}) {title} | {rate(found, step)} | "
                + " | ".join(in_words(row) for row in rows)
                + " |"
            )
    yield ""
    yield f"Measured with {basis(document)}. Reconciliation at step 5: {verdicts(document)}."


def in_words(row: Row | None) -> str:
    """Hops with something to tell."""
    if row is None:
        return "not measured"
    told = [f"{name} {signs(hop)}" for name, hop in row["per_10_000"].items() if signs(hop) != ZERO]
    return "<br>".join(told) or ZERO


def rate(found: dict[tuple[int, str], Row], step: int) -> str:
    """Throughput where nothing was in the way."""
    return (
        f"{row['orders_per_second']:,.0f}" if (row := found.get((step, "none"))) else "not measured"
    )


def verdicts(document: Row) -> str:
    """What reconciliation said, once for each different verdict."""
    return (
        "; ".join(sorted({row["verdict"] for row in document["cells"] if row["verdict"]}))
        or "not run"
    )


def html(document: Row) -> str:
    """The picture, which needs nothing from anywhere else."""
    template = files("lab.ladder").joinpath("page.html.j2").read_text()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found = cells(document)
    return environment.from_string(template).render(
        steps=STEPS,
        faults={
            fault: FAULTS[fault].title
            for fault in FAULTS
            if any(name == fault for _, name in found)
        },
        cells=found,
        hops=HOPS,
        rates=[rate(found, step) for step in range(len(STEPS))],
        basis=basis(document),
        verdict=verdicts(document),
    )
