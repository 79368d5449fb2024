"""What people read of the peers: tables and the settings on a terminal, and two pages."""

from collections.abc import Iterator, Sequence
from math import log10
from pathlib import Path
from typing import Any, NamedTuple

from lab.charts import HEIGHT, make_charts
from lab.pages import fill_template, write_pages
from lab.peers.measure import RATES

Row = dict[str, Any]
Point = tuple[float, float]
WIDEST = 26
POWERS_OF_TEN = range(1, 6)  # of milliseconds, as far as they are drawn


class Table(NamedTuple):
    """Numbers of each arm."""

    title: str
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]  # arm, cells


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
        tables=make_tables(document["arms"]),
        basis=basis(document),
        bars=bars(document["arms"]),
        curves=curves(document["arms"]),
        rates=RATES,
        **more,
    )


def make_tables(arms: Sequence[Row]) -> list[Table]:
    """Return everything that was measured."""
    speeds = [(row["arm"], cells_of_speed(row)) for row in arms]
    taken = [(row["arm"], cells_of_what_it_takes(row)) for row in arms]
    loads = [(row["arm"], cells_of_loads(row)) for row in arms]
    return [
        Table(
            "Speed, and one kill of the relay",
            ("orders/s", "lost", "doubled", "of", "kills", "s after"),
            speeds,
        ),
        Table("What it takes", ("memory MB", "log B", "disk B"), taken),
        Table("Milliseconds by orders a second", [f"{rate:,}/s" for rate in RATES], loads),
    ]


def cells_of_speed(row: Row) -> list[str]:
    """Return how fast an arm is, and what the kills left."""
    kill = row["kill"]
    return [
        f"{row['orders_per_second']:,.0f}",
        f"{kill['lost']:,}",
        f"{kill['doubled']:,}",
        f"{kill['orders']:,}",
        f"{row['kills']}",
        f"{kill['seconds']:,.0f}",
    ]


def cells_of_what_it_takes(row: Row) -> list[str]:
    """Return the memory of an arm, and the bytes of an order."""
    return [f"{row[name]:,.0f}" for name in ("memory_mb", "log_bytes", "disk_bytes")]


def cells_of_loads(row: Row) -> list[str]:
    """Return median and p99 at each rate; the first that is too much says what the arm can take."""
    shown = [
        f"{load['median']:,.0f} / {load['p99']:,.0f}"
        if load["keeps_up"]
        else f"{load['reached']:,.0f}/s"
        for load in row["loads"]
    ]
    left = len(RATES) - len(shown)
    return shown + ["-"] * left


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
        f"latency, median ms at {RATES[0]} orders/s": [row["loads"][0]["median"] for row in arms],
        f"latency, p99 ms at {RATES[0]} orders/s": [row["loads"][0]["p99"] for row in arms],
        "memory of what writes and what publishes, MB": [row["memory_mb"] for row in arms],
        "PostgreSQL's log, bytes of an order": [row["log_bytes"] for row in arms],
        "PostgreSQL's disk, bytes of an order that stay": [row["disk_bytes"] for row in arms],
        "lost after a kill, of 10,000 orders": [scale(row, "lost") for row in arms],
        "doubled after a kill, of 10,000 orders": [scale(row, "doubled") for row in arms],
    }
    return [
        {
            "title": title,
            "rows": [
                {"arm": row["arm"], "value": f"{value:,.0f}", "part": 100 * max(0, value) / most}
                for row, value in zip(arms, values, strict=True)
            ],
        }
        for title, values in measures.items()
        for most in [max(values) or 1]
    ]


def curves(arms: Sequence[Row]) -> list[Row]:
    """Return a chart of median and p99: the rates side by side, and powers of ten upwards.

    A line ends where its arm is saturated.
    """
    series = {}
    for name in ("median", "p99"):
        lines = lines_of(arms, name)
        if lines:
            series[name] = lines
    places = {row["arm"]: number for number, row in enumerate(arms)}
    charts = []
    for chart in make_charts(series):
        chart["grid"] = grid(chart["most"])
        chart["places"] = places
        charts.append(chart)
    return charts


def lines_of(arms: Sequence[Row], name: str) -> dict[str, list[Point]]:
    """Return the line of each arm that can take any of the rates."""
    lines = {row["arm"]: points_of(row, name) for row in arms}
    return {arm: points for arm, points in lines.items() if points}


def points_of(row: Row, name: str) -> list[Point]:
    """Return where the line of an arm goes through."""
    kept_up = [load for load in row["loads"] if load["keeps_up"]]
    return [(RATES.index(load["rate"]), scaled(load[name])) for load in kept_up]


def scaled(milliseconds: float) -> float:
    """Return where a latency is drawn; nothing is faster than a millisecond."""
    return log10(max(1, milliseconds))


def grid(most: float) -> list[Row]:
    """Return the lines of a chart that stand for 10, 100, 1,000 milliseconds and so on."""
    top = 0.96 * HEIGHT
    return [
        {"label": f"{10**power:,}", "at": f"{HEIGHT - top * power / most:.1f}"}
        for power in POWERS_OF_TEN
        if power <= most
    ]


def scale(row: Row, name: str) -> float:
    """Return how many of 10,000 orders that are."""
    kill = row["kill"]
    return float(kill[name] * 10_000 / kill["orders"])


def lines(document: Row) -> Iterator[str]:
    """Yield a line for each arm in each table, then how each is set up."""
    for title, head, rows in make_tables(document["arms"]):
        yield title
        yield f"{'':<{WIDEST}}" + to_the_right(head)
        for arm, cells in rows:
            yield f"{arm:<{WIDEST}}" + to_the_right(cells)
        yield ""
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
    return "".join(f"{column:>15}" for column in columns)
