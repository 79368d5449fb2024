"""What people read of the peers: a table and the settings on a terminal, and two pages."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.pages import fill_template, write_pages

Row = dict[str, Any]
HEAD = ("orders/s", "median ms", "p99 ms", "lost", "doubled", "of", "kills", "s after")
WIDEST = 24


def write(document: Row, output: Path) -> None:
    """Write the Markdown page to this file, and the picture beside it."""
    write_pages(render, document, output)


def render(template: str, document: Row, **more: str) -> str:
    """Return the document as a page, which loads nothing from anywhere else."""
    return fill_template(
        "lab.peers",
        template,
        document=document,
        arms=document["arms"],
        head=HEAD,
        cells=cells,
        basis=basis(document),
        bars=bars(document["arms"]),
        **more,
    )


def cells(row: Row) -> list[str]:
    """Return the numbers of one arm, in the sequence of the head."""
    kill = row["kill"]
    return [
        f"{row['orders_per_second']:,.0f}",
        f"{row['latency_ms']['median']:,.0f}",
        f"{row['latency_ms']['p99']:,.0f}",
        f"{kill['lost']:,}",
        f"{kill['doubled']:,}",
        f"{kill['orders']:,}",
        f"{row['kills']}",
        f"{kill['seconds']:,.0f}",
    ]


def basis(document: Row) -> str:
    """Return what the numbers belong to."""
    rounds = "one round" if document["rounds"] == 1 else f"{document['rounds']} rounds"
    orders = f"{document['orders']:,} orders"
    return (
        f"{document['date']}, medians of {rounds} of {orders}, seed {document['seed']};"
        f" {document['machine']}"
    )


def bars(arms: Sequence[Row]) -> list[Row]:
    """Return a picture for each measure: of every arm, its number and its part of the largest."""
    measures = {
        "orders/s": [row["orders_per_second"] for row in arms],
        "latency, median ms at 50 orders/s": [row["latency_ms"]["median"] for row in arms],
        "latency, p99 ms at 50 orders/s": [row["latency_ms"]["p99"] for row in arms],
        "lost after a kill, of 10,000 orders": [scale(row, "lost") for row in arms],
        "doubled after a kill, of 10,000 orders": [scale(row, "doubled") for row in arms],
    }
    return [
        {
            "title": title,
            "rows": [
                {"arm": row["arm"], "value": f"{value:,.0f}", "part": 100 * value / most}
                for row, value in zip(arms, values, strict=True)
            ],
        }
        for title, values in measures.items()
        for most in [max(values) or 1]
    ]


def scale(row: Row, name: str) -> float:
    """Return how many of 10,000 orders that are."""
    kill = row["kill"]
    return float(kill[name] * 10_000 / kill["orders"])


def lines(document: Row) -> Iterator[str]:
    """Yield a line for each arm, then how each is set up."""
    yield f"{'':<{WIDEST}}" + to_the_right(HEAD)
    for row in document["arms"]:
        yield f"{row['arm']:<{WIDEST}}" + to_the_right(cells(row))
    for name, reason in document["left_out"].items():
        yield f"{name} is left out: {reason}"
    yield basis(document)
    for row in document["arms"]:
        yield ""
        yield from describe(row)


def describe(row: Row) -> Iterator[str]:
    """Yield what an arm is and its configuration."""
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    yield f"{row['arm']}: {row['what']}"
    if versions:
        yield f"  {versions}"
    for sentence in row["differs"]:
        yield f"  not as its pages say: {sentence}"
    for title, text in row["configuration"].items():
        yield f"  {title}"
        for line in text.splitlines():
            yield f"    {line}".rstrip()


def to_the_right(columns: Sequence[str]) -> str:
    """Return columns of one width."""
    return "".join(f"{column:>11}" for column in columns)
