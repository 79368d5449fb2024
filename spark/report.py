"""What people read: a table and a verdict as text, and a page of HTML."""

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from spark.hops import PATH
from spark.outcome import DEFECTS

COUNTS = ("in", "out", "duplicates_removed", "rejected", "dead_letters", *DEFECTS, "late")

Row = dict[str, Any]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """The rows along the path: the first hop that lost something comes first, and the topics come last."""
    place = {hop: place for place, hop in enumerate(PATH)}
    return sorted(rows, key=lambda row: (place.get(row["hop"], len(PATH)), row["hop"]))


def verdict_of(hops: list[Row]) -> Row:
    """Whether all is well, and one line that says what is not."""
    counts = {defect: sum(hop[defect] for hop in hops) for defect in DEFECTS}
    wrong = ", ".join(f"{count} {defect}" for defect, count in counts.items() if count)
    return {"ok": not wrong, "verdict": f"verdict: {wrong or 'nothing lost, nothing doubled'}"}


def render(template: str, result: Row) -> str:
    """What a terminal shows, or the page, which needs nothing from anywhere else."""
    text = files("spark").joinpath(template).read_text()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    by = {hop["hop"]: hop for hop in result["hops"]}
    return environment.from_string(text).render(
        result, path=PATH, by=by, columns=COUNTS, defects=DEFECTS
    )
