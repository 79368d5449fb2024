"""What people read of the year: lines on a terminal, a Markdown page with a picture beside it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.charts import make_charts
from lab.pages import fill_template
from lab.year.ages import LONGEST
from lab.year.day import Day
from lab.year.growth import as_series

Document = dict[str, Any]
MOST_POINTS = 120  # of a line: more than a picture can show
SHOWN = 7  # lines of one chart: the largest


def write(document: Document, output: Path) -> None:
    """Write the Markdown page to this file, and the picture and the numbers beside it."""
    picture = output.with_suffix(".svg")
    days = [Day(**day) for day in document["days"]]
    series = thin(as_series(days))
    charts = list(make_charts(largest(series)))
    given = {"document": document, "charts": charts, "longest": LONGEST, "lived": len(days)}
    table = list(compare_days(days))
    page = fill_template("lab.year", "page.md.j2", picture=picture.name, table=table, **given)
    output.write_text(page)
    picture.write_text(fill_template("lab.year", "picture.svg.j2", **given))
    output.with_suffix(".json").write_text(as_json(document))


def as_json(document: Document) -> str:
    """Return the numbers for a program, with a line for each day."""
    rest = {name: value for name, value in document.items() if name != "days"}
    head = json.dumps(rest).removesuffix("}")
    days = map(json.dumps, document["days"])
    lines = ",\n".join(days)
    return f'{head}, "days": [\n{lines}\n]}}\n'


def thin(series: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the lines with as many points as a picture can show."""
    return {
        name: {
            place: points[:: max(1, len(points) // MOST_POINTS)] for place, points in lines.items()
        }
        for name, lines in series.items()
    }


def largest(series: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the lines of each measure that reach highest."""
    chosen = {}
    for name, lines in series.items():
        by_height = sorted(lines, key=lambda place: -max(value for _, value in lines[place]))
        chosen[name] = {place: lines[place] for place in by_height[:SHOWN]}
    return chosen


def compare_days(days: list[Day]) -> Iterator[tuple[str, str, list[float | None]]]:
    """Yield what was measured after the longest age, half of the way later, and in the end.

    None for what that day did not have, such as a compaction.
    """
    if not days:
        return
    first = min(LONGEST, len(days)) - 1
    last = len(days) - 1
    chosen = [days[number] for number in (first, (first + last) // 2, last)]
    for name, places in chosen[-1].measures.items():
        for place in places:
            values = [day.measures.get(name, {}).get(place) for day in chosen]
            yield name, place, values


def lines(document: Document) -> Iterator[str]:
    """Yield what the days have shown."""
    lived = len(document["days"])
    yield f"{lived:,} of {document['wanted']:,} days, {document['orders']:,} orders each"
    yield from document["not_ok"]
    if not document["long_enough"]:
        yield f"too few days to say what grows: the longest age is {LONGEST} days"
        return
    yield from (f"grows: {sentence}" for sentence in document["growing"])
    if not document["growing"]:
        yield "nothing has grown after the longest age"
