"""Shares of the old: each run confirms some of what earlier ones have judged.

Whoever changes or deletes a row in place leaves no new transaction. So a run notes what the rows of
each share, a range of transactions, add up to. A later run adds them up again, and judges
everything if they do not add up to the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.rows.frames import Frames, query
from spark.rows.snapshot import LARGE, Selection, Snapshot, read_tables
from spark.session import make_frame
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
RANGE_SCHEMA = "database string, first bigint, stop bigint"
NEVER = -1  # stands for the transaction of rows that name none
WAITING = "tracking without the receiver's answer"  # of these there may be fewer, later
OF_TRACKING = "tracking"
OF_ENTRIES = "audit entry"
OF_LETTERS = "dead letter"
OUTBOX_OF = "outbox of "  # and the topic


class Sum(NamedTuple):
    """What the rows of one part of a share add up to."""

    rows: int
    first: int
    second: int

    def add(self, other: "Sum") -> "Sum":
        """Return what the rows of both add up to."""
        return Sum(self.rows + other.rows, self.first + other.first, self.second + other.second)


NOTHING = Sum(0, 0, 0)


class Share(NamedTuple):
    """What the rows of a range of transactions add up to."""

    database: str
    first: int
    stop: int
    confirmed: str  # the id of the run that last saw so
    due: int  # the run, since everything was judged, by which it is confirmed again
    sums: Mapping[str, Sum]  # by part

    def rows(self) -> int:
        """Return how many rows there are; one that waits for an answer is one of tracking, too."""
        return sum(found.rows for part, found in self.sums.items() if part != WAITING)

    def add(self, other: "Share") -> "Share":
        """Return both as one, which is due as soon and confirmed as long ago as either."""
        parts = {*self.sums, *other.sums}
        sums = {}
        for part in sorted(parts):
            sums[part] = self.sums.get(part, NOTHING).add(other.sums.get(part, NOTHING))
        return self._replace(
            stop=other.stop,
            confirmed=min(self.confirmed, other.confirmed),
            due=min(self.due, other.due),
            sums=sums,
        )


class Range(NamedTuple):
    """A range of transactions of a database."""

    database: str
    first: int
    stop: int


# By database and part: what was written before that transaction may be deleted by retention.
Retired = Mapping[tuple[str, str], int]


def share_everything(
    frames: Frames, stops: Mapping[str, int], run_id: str, runs: int
) -> list[Share]:
    """Return so many shares of about as many rows each, one due with each of the next runs."""
    written = make_noted(frames)
    fractions = [number / runs for number in range(1, runs)] or [1.0]
    of_database = written.where(F.col("writer") != NEVER).groupBy("database")
    cuts: dict[str, list[int]] = dict(
        of_database.agg(F.percentile_approx("writer", fractions)).collect()
    )
    ranges = {name: cut(name, stop, cuts.get(name, [])) for name, stop in stops.items()}
    sums = sum_up(written, [one for of_one in ranges.values() for one in of_one])
    shares = []
    for of_one in ranges.values():
        with_rows = [one for one in of_one if one in sums]
        for number, one in enumerate(with_rows, 1):
            due = -(-number * runs // len(with_rows))  # rounded up
            shares.append(Share(*one, run_id, due, sums[one]))
    return shares


def cut(database: str, stop: int, cuts: Iterable[int]) -> list[Range]:
    """Return the ranges between these cuts, and one for the rows that name no transaction."""
    inner = [one for one in cuts if one < stop]
    borders = sorted({0, *inner, stop})
    ranges = [Range(database, first, after) for first, after in pairwise(borders)]
    without_transaction = Range(database, NEVER, 0)
    return [without_transaction, *ranges]


def share_new(
    frames: Frames, firsts: Mapping[str, int], stops: Mapping[str, int], run_id: str, due: int
) -> list[Share]:
    """Return a share of each database for what was written since the horizon, and is over."""
    ranges = []
    for database, stop in stops.items():
        first = firsts[database]
        if first < stop:
            ranges.append(Range(database, first, stop))
    sums = sum_up(make_noted(frames), ranges)
    shares = []
    for one in ranges:
        sums_of_one = sums.get(one, {})
        shares.append(Share(*one, run_id, due, sums_of_one))
    return shares


def find_due(shares: Iterable[Share], run: int) -> list[Share]:
    """Return the shares that this run has to confirm."""
    return [share for share in shares if share.due <= run]


def confirm(
    spark: SparkSession,
    subscriber: str,
    snapshots: Mapping[str, Snapshot],
    shares: Sequence[Share],
    retired: Retired,
) -> str:
    """Add up shares again; return a sentence about one that is not as it was judged."""

    def select(database: str, _frame: str) -> Selection:
        ranges = [as_condition(share) for share in shares if share.database == database]
        rows = " or ".join(ranges) or "false"
        return Selection(rows, is_new="false", tracking_rows="false")  # no values are compared

    frames = read_tables(spark, subscriber, snapshots, select, only=LARGE)
    return find_changed_share(frames, shares, retired)


def as_condition(share: Share) -> str:
    """Return PostgreSQL for whether a row is of a share; an index finds them."""
    if share.first == NEVER:
        return "written_by is null"
    return f"written_by >= {share.first} and written_by < {share.stop}"


def find_changed_share(frames: Frames, shares: Sequence[Share], retired: Retired) -> str:
    """Return a sentence about a share that does not add up to the same as when it was judged."""
    ranges = [Range(share.database, share.first, share.stop) for share in shares]
    sums = sum_up(make_noted(frames), ranges)
    for share, one in zip(shares, ranges, strict=True):
        for part in changed_parts(share, sums.get(one, {}), retired):
            return f"rows of {share.database} ({part}) have changed or are gone"
    return ""


def changed_parts(share: Share, found: Mapping[str, Sum], retired: Retired) -> Iterator[str]:
    """Give each part that does not add up to the same.

    Where retention may have deleted rows of it, that is no change: its own note says what went.
    """
    for part in sorted({*share.sums, *found}):
        judged = share.sums.get(part, NOTHING)
        now = found.get(part, NOTHING)
        is_retired = share.first < retired.get((share.database, part), NEVER)
        is_as_it_was = now.rows <= judged.rows if part == WAITING else now == judged
        if not (is_retired or is_as_it_was):
            yield part


def merge(shares: Sequence[Share], runs: int) -> list[Share]:
    """Return the shares, neighbours as one where both are small: a year of runs stays small."""
    rows: Counter[str] = Counter()
    for share in shares:
        rows[share.database] += share.rows()
    merged: list[Share] = []
    for share in sorted(shares, key=lambda share: (share.database, share.first)):
        last = merged[-1] if merged else None
        if last and is_small_neighbour(last, share, rows[share.database] // runs):
            merged[-1] = last.add(share)
        else:
            merged.append(share)
    return merged


def is_small_neighbour(last: Share, share: Share, most: int) -> bool:
    """Return whether a share goes on where the last one ends, and both are small together."""
    is_neighbour = (last.database, last.stop) == (share.database, share.first)
    return is_neighbour and last.rows() + share.rows() <= most


def list_retired(frames: Frames) -> dict[tuple[str, str], int]:
    """Return before which transaction retention may have deleted events of each topic."""
    rows = frames["retired"].select("database", "topic", "written_before").collect()
    return {(row.database, f"{OUTBOX_OF}{row.topic}"): row.written_before for row in rows}


def list_deleted(noted: Mapping[str, Mapping[str, int]] | None) -> dict[tuple[str, str], int]:
    """Return the same of the parts that a horizon has noted."""
    return {
        (database, part): before
        for database, parts in (noted or {}).items()
        for part, before in parts.items()
    }


def make_noted(frames: Frames) -> DataFrame:
    """Return the rows that are added up, each with its part and a hash."""
    return query(STATEMENTS["noted"], frames, never=NEVER, waiting=WAITING, outbox_of=OUTBOX_OF)


def sum_up(noted: DataFrame, ranges: Sequence[Range]) -> dict[Range, dict[str, Sum]]:
    """Return what the parts of each range add up to."""
    if not ranges:
        return {}
    given = {"noted": noted, "ranges": make_frame(noted.sparkSession, ranges, RANGE_SCHEMA)}
    of = {(one.database, one.first): one for one in ranges}
    found: dict[Range, dict[str, Sum]] = {}
    for row in query(STATEMENTS["sums"], given).collect():
        sums = found.setdefault(of[row.database, row.first], {})
        sums[row.part] = Sum(row.rows, row.first_sum, row.second_sum)
    return found
