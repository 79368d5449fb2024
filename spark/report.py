"""What people read of a run: a table and a verdict as text, and a page of HTML."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from spark.hops import input_to_tracking
from spark.outcome import DEFECTS
from spark.picture import draw

COUNTS = ("in", "out", "duplicates_removed", "rejected", "dead_letters", *DEFECTS, "late")
GOOD = "nothing lost, nothing doubled"

Row = dict[str, Any]


def sort_by_path(rows: Iterable[Row], path: Sequence[str]) -> list[Row]:
    """Return the rows along the path, from the ledger to the topics."""
    places = {hop: place for place, hop in enumerate(path)}

    def place_and_name(row: Row) -> tuple[int, str]:
        return places.get(row["hop"], len(path)), row["hop"]

    return sorted(rows, key=place_and_name)


def verdict_of(hops: Sequence[Row]) -> Row:
    """Return whether all is well, and one line that says what is not."""
    defects = []
    for defect in DEFECTS:
        count = sum(hop[defect] for hop in hops)
        if count:
            defects.append(f"{count:,} {defect}")
    verdict = ", ".join(defects) or GOOD
    return {"ok": not defects, "verdict": f"verdict: {verdict}"}


def render_text(result: Row) -> str:
    """Return what a terminal shows: counts, findings, the report's path, and last the verdict."""
    lines = table_lines(result["hops"])
    for finding in result["findings"]:
        where = f"{finding['outcome']}: {finding['id']} in {finding['hop']}"
        lines.append(f"{where}: {finding['detail']}")
    return "\n".join([*lines, f"report: {result['report']}", result["verdict"]])


def table_lines(hops: Sequence[Row]) -> list[str]:
    """Return the counts as a table; two lines of headings let it fit 120 columns."""
    columns = [["", "", *(hop["hop"] for hop in hops)]]
    for name in COUNTS:
        first_word, _, second_word = name.rpartition("_")
        columns.append([first_word, second_word, *(f"{hop[name]:,}" for hop in hops)])
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for name, *counts in zip(*columns, strict=True):
        cells = [count.rjust(width) for count, width in zip(counts, widths[1:], strict=True)]
        lines.append(" ".join([name.ljust(widths[0]), *cells]))
    return lines


def render_page(result: Row, input_topic: str, outbox_topics: Sequence[str]) -> str:
    """Return the page, which needs no other file."""
    picture = draw(input_topic, outbox_topics)
    drawn = picture.hops()
    not_drawn = [hop for hop in result["hops"] if hop["hop"] not in drawn]
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(Path(__file__).parent),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("report.html.j2").render(
        result,
        columns=COUNTS,
        counts_of={hop["hop"]: hop for hop in result["hops"]},
        defects=DEFECTS,
        input_hop=input_to_tracking(input_topic),
        input_topic=input_topic,
        not_drawn=not_drawn,
        picture=picture,
    )
