"""What people read of a run: a table and a verdict as text, and a page of HTML."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from spark.hops import input_to_tracking
from spark.judging.outcome import DEFECTS, WAITING
from spark.judging.standstill import Behind
from spark.reporting.picture import draw
from spark.rows.snapshot import Holder

COUNTS = ("in", "out", "duplicates_removed", "rejected", "dead_letters", *DEFECTS, *WAITING)
SINCE = "judged since {at} UTC, and all before that confirmed since {confirmed_at} UTC"
GOOD = "nothing lost, nothing doubled"
NAME_WIDTH = 39  # with it the counts of some ten thousand records fit 120 columns

Row = dict[str, Any]


def sort_by_path(rows: Iterable[Row], path: Sequence[str]) -> list[Row]:
    """Return the rows along the path, from the ledger to the topics."""
    places = {hop: place for place, hop in enumerate(path)}
    behind_all = len(path)

    def place_and_name(row: Row) -> tuple[int, str]:
        name = row["hop"]
        place = places.get(name, behind_all)
        return (place, name)

    return sorted(rows, key=place_and_name)


def verdict_of(
    hops: Sequence[Row],
    behind: Sequence[Behind] = (),
    since: Row | None = None,
    not_checked: int = 0,
    holders: Sequence[Holder] = (),
) -> Row:
    """Return whether all is well, and one line that says what is not, or not yet."""
    defects = []
    for defect in DEFECTS:
        count = sum(hop[defect] for hop in hops)
        if count:
            defects.append(f"{count:,} {defect}")
    said = [", ".join(defects)] if defects else []
    if behind:
        stuck = "; ".join(map(str, behind))
        said.append(f"behind: {stuck}")
    ok = not said
    late = max((hop["late"] for hop in hops), default=0)
    if ok:
        said.append(GOOD)
    if late and not behind:
        said.append(f"{late:,} on their way")
    parked = max((hop["parked"] for hop in hops), default=0)
    if parked:
        said.append(f"{parked:,} parked behind dead letters")
    if not_checked:
        said.append(f"{not_checked:,} not checked")
    if since:
        said.append(SINCE.format_map(since))
    said += [str(holder) for holder in holders[:1]]
    verdict = "; ".join(said)
    return {
        "ok": ok,
        "behind": [one._asdict() for one in behind],
        "verdict": f"verdict: {verdict}",
    }


def describe_reach(positions: Row) -> str:
    """Return up to where a run has judged, in one line."""
    ledger = positions["ledger"]
    records = f"a ledger of {ledger['records']:,} records" if ledger else "no ledger"
    handled = [f"{number}:{offset:,}" for number, offset in positions["committed"].items()]
    ends = sum(positions["ends"].values())
    versions = positions["delta"].values()
    logs = [f"{slot} {lsn}" for slot, lsn in positions["log"].items()]
    return (
        f"complete for: {records}; the input handled below {' '.join(handled) or '0'};"
        f" {ends:,} offsets of all topics, in Delta up to version"
        f" {max(versions, default=0):,}; logs up to {', '.join(logs)}"
    )


def render_text(result: Row) -> str:
    """Return what a terminal shows: counts, findings, the report's path, and last the verdict."""
    lines = table_lines(result["hops"])
    for finding in result["findings"]:
        line = "{outcome}: {id} in {hop}: {detail}".format_map(finding)
        lines.append(line)
    if result["hops"]:
        lines.append(describe_reach(result["positions"]))
    letters = result.get("letters", {})
    if any(letters.values()):
        lines.append("dead letters: {open:,} open, {closed:,} closed".format_map(letters))
    for loss in result["accepted_losses"]:
        lines.append(f"accepted loss: {loss}")
    for place in result.get("retired", []):
        lines.append(f"retired, not compared: {place}")
    for failed in result["failed_repairs"]:
        line = "failed repair: {id} in {hop}: {act}, done by {who} at {done_at} UTC".format_map(
            failed
        )
        lines.append(f"{line}, and it is {failed['outcome']}")
    for stuck in result["behind"]:
        line = "behind: {hop}: {waiting:,} wait; {where}".format_map(stuck)
        lines.append(line)
    lines.append(f"report: {result['report']}")
    lines.append(result["verdict"])
    return "\n".join(lines)


def shorten(name: str) -> str:
    """Return the name of a hop as the table has room for it."""
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"


def table_lines(hops: Sequence[Row]) -> list[str]:
    """Return the counts as a table; two lines of headings let it fit 120 columns."""
    names = [shorten(hop["hop"]) for hop in hops]
    cells = ["", "", *names]
    width = longest(cells)
    lines = [cell.ljust(width) for cell in cells]
    for column in columns_of(hops):
        first_word, _, second_word = column.rpartition("_")
        numbers = [f"{hop[column]:,}" for hop in hops]
        cells = [first_word, second_word, *numbers]
        width = longest(cells)
        for number, cell in enumerate(cells):
            lines[number] += " " + cell.rjust(width)
    return lines


def columns_of(hops: Sequence[Row]) -> list[str]:
    """Return the counts to show: where nobody parks, nobody need read about it."""
    is_any_parked = any(hop["parked"] for hop in hops)
    return [column for column in COUNTS if column != "parked" or is_any_parked]


def longest(cells: Sequence[str]) -> int:
    """Return the length of the longest cell."""
    return max(len(cell) for cell in cells)


def render_page(result: Row, input_topic: str, outbox_topics: Sequence[str]) -> str:
    """Return the page, which needs no other file."""
    picture = draw(input_topic, outbox_topics)
    drawn = picture.hops()
    counts_of = {}
    not_drawn = []
    for hop in result["hops"]:
        name = hop["hop"]
        counts_of[name] = hop
        if name not in drawn:
            not_drawn.append(hop)
    template = load_template()
    return template.render(
        result,
        columns=columns_of(result["hops"]),
        counts_of=counts_of,
        defects=DEFECTS,
        input_hop=input_to_tracking(input_topic),
        input_topic=input_topic,
        not_drawn=not_drawn,
        picture=picture,
    )


def load_template() -> Template:
    """Return the template of the page; a value that it does not get is an error."""
    folder = Path(__file__).parent
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(folder),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("report.html.j2")
