"""What people read of the truth table: lines on a terminal, a page of Markdown, and a picture in a page of HTML."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from lab.bench.numbers import short
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.columns import STORES

Row = dict[str, Any]
COSTS = {
    "requests": "requests for 500 messages",
    "bytes": "bytes kept for a message",
    "speed": "speed, default = 1",
}


def write(document: Row, output: Path) -> None:
    """The Markdown page at this place, and the picture beside it."""
    output.write_text("\n".join(markdown(document, output.with_suffix(".html").name)) + "\n")
    output.with_suffix(".html").write_text(html(document))


def in_words(cell: Row) -> str:
    """The verdict, and what was counted."""
    counted = [f"+{cell['doubled']}"] * bool(cell["doubled"]) + [f"−{cell['lost']}"] * bool(
        cell["lost"]
    )
    return " ".join([cell["verdict"], *counted])


def price(kind: str, value: Any) -> str:
    """A cost as people read it."""
    if kind == "requests":
        return " + ".join(f"{count:,} {server}" for server, count in value.items())
    return short(value) if kind == "bytes" else f"{value:.2g}"


def lines(document: Row) -> Iterator[str]:
    """A block for each store, a line for each anomaly."""
    for name, rows in by_store(document).items():
        yield STORES[name].title
        for cell in rows:
            yield f"    {ANOMALIES[cell['anomaly']].title:<56}{in_words(cell)}"
        for costs in (row for row in document["costs"] if row["store"] == name):
            yield from (
                f"    {title:<56}{price(kind, costs[kind])}" for kind, title in COSTS.items()
            )
    yield f"+ effects too many, − effects that never were; {basis(document)}"  # noqa: RUF001


def by_store(document: Row) -> dict[str, list[Row]]:
    """The cells of each store that was asked for."""
    names = {cell["store"] for cell in document["cells"]}
    return {
        name: [cell for cell in document["cells"] if cell["store"] == name]
        for name in STORES
        if name in names
    }


def by_anomaly(document: Row) -> dict[str, list[Row]]:
    """The same by anomaly, in the order of the stores."""
    found = by_store(document).values()
    return {cells[0]["anomaly"]: list(cells) for cells in zip(*found, strict=True)}


def costs_by_kind(document: Row) -> Iterator[tuple[str, list[str]]]:
    """What each store costs, in the order of the stores."""
    found = {row["store"]: row for row in document["costs"]}
    for kind, title in COSTS.items():
        if found:
            yield title, [price(kind, found[name][kind]) for name in by_store(document)]


def basis(document: Row) -> str:
    """What the numbers belong to."""
    return "speeds are medians of {rounds} rounds; {machine}".format(**document)


def markdown(document: Row, picture: str) -> Iterator[str]:
    """The page; the tests hold its verdicts against a run."""
    stores = by_store(document)
    yield from (
        files("lab.dedup_matrix")
        .joinpath("page.md")
        .read_text()
        .format(picture=picture)
        .splitlines()
    )
    yield ""
    yield "| anomaly | " + " | ".join(STORES[name].title for name in stores) + " |"
    yield "| --- |" + " --- |" * len(stores)
    for law, cells in by_anomaly(document).items():
        yield f"| {ANOMALIES[law].title} | " + " | ".join(map(in_words, cells)) + " |"
    for title, prices in costs_by_kind(document):
        yield f"| *{title}* | " + " | ".join(prices) + " |"
    yield ""
    yield "## When to choose which"
    yield ""
    yield from (f"- **{STORES[name].title}**: {STORES[name].choose_it}." for name in stores)
    yield ""
    yield f"Measured with one broker, one Postgres; {basis(document)}."


def html(document: Row) -> str:
    """The picture, which needs nothing from anywhere else."""
    template = files("lab.dedup_matrix").joinpath("page.html.j2").read_text()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    rows = [(ANOMALIES[law].title, cells) for law, cells in by_anomaly(document).items()]
    stores = [STORES[name] for name in by_store(document)]
    given = {
        "stores": stores,
        "rows": rows,
        "costs": list(costs_by_kind(document)),
        "basis": basis(document),
    }
    return environment.from_string(template).render(**given)
