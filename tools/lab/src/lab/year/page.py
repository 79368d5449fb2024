"""What people read of the year: lines on a terminal, a Markdown page with a picture beside it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lab.charts import make_charts
from lab.pages import fill_template
from lab.year.ages import LONGEST
from lab.year.day import Day
from lab.year.growth import TOLERANCES, Points, Series, as_series, median_of, thirds

Document = dict[str, Any]
MOST_POINTS = 120  # of a line: more than a picture can show
SHOWN = 7  # lines of one chart: the largest


class Comparison(NamedTuple):
    """What one line was in each third of the days, by the median, and on the worst day."""

    name: str
    place: str
    medians: list[float | None]
    largest: float


def write(document: Document, output: Path) -> None:
    """Write the Markdown page to this file, and the picture and the numbers beside it."""
    days = [Day(**day) for day in document["days"]]
    picture = output.with_suffix(".svg")
    numbers = output.with_suffix(".json")
    output.write_text(as_page(document, days, picture.name))
    picture.write_text(as_picture(document, days))
    numbers.write_text(as_json(document))


def as_page(document: Document, days: list[Day], picture: str) -> str:
    """Return the Markdown page, with a link to this picture."""
    return fill_template(
        "lab.year",
        "page.md.j2",
        document=document,
        lived=len(days),
        longest=LONGEST,
        picture=picture,
        thirds=name_thirds(days),
        table=list(compare_thirds(days)),
        number=say_number,
    )


def as_picture(document: Document, days: list[Day]) -> str:
    """Return the picture: a chart for each measure."""
    lines = largest(thin(as_series(days)))
    return fill_template(
        "lab.year",
        "picture.svg.j2",
        document=document,
        lived=len(days),
        longest=LONGEST,
        charts=list(make_charts(lines)),
    )


def as_json(document: Document) -> str:
    """Return the numbers for a program, with a line for each day."""
    rest = dict(document)
    days = rest.pop("days")
    head = json.dumps(rest).removesuffix("}")
    lines = ",\n".join(map(json.dumps, days))
    return f'{head}, "days": [\n{lines}\n]}}\n'


def thin(series: Series) -> Series:
    """Return the lines with as many points as a picture can show, and always the last."""
    return {
        name: {place: thin_line(points) for place, points in lines.items()}
        for name, lines in series.items()
    }


def thin_line(points: Points) -> Points:
    """Return a line with the last of its points, and each so many before it."""
    step = max(1, len(points) // MOST_POINTS)
    from_the_end = points[::-step]
    return from_the_end[::-1]


def largest(series: Series) -> Series:
    """Return the lines of each measure that reach highest."""
    chosen = {}
    for name, lines in series.items():
        by_height = sorted(lines, key=lambda place: -max(value for _, value in lines[place]))
        chosen[name] = {place: lines[place] for place in by_height[:SHOWN]}
    return chosen


def compare_thirds(days: list[Day]) -> Iterator[Comparison]:
    """Yield what was measured in each third of the days that are compared.

    What was never more than growth may be is left out: most tables have a row or none.
    """
    parts = [as_series(part) for part in thirds(days)]
    for name, places in as_series(days).items():
        for place, points in places.items():
            largest_value = max(value for _, value in points)
            if largest_value > TOLERANCES[name].more:
                medians = [median_of(part, name, place) for part in parts]
                yield Comparison(name, place, medians, largest_value)


def say_number(value: float) -> str:
    """Return a number as people read it: a small one with a place behind the point."""
    is_whole = value >= 100 or value == int(value)
    return f"{value:,.0f}" if is_whole else f"{value:,.1f}"


def name_thirds(days: list[Day]) -> list[str]:
    """Return the heading of each third."""
    return [f"days {part[0].number} to {part[-1].number}" if part else "" for part in thirds(days)]


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
