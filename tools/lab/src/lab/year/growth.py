"""What grows though it should not: the last days are compared with those after the longest age."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lab.year.ages import LONGEST
from lab.year.day import SECONDS, Day

Points = list[tuple[int, float]]  # day and value
Series = dict[str, dict[str, Points]]  # by measure and place

SETTLING = 10  # days after the longest age, until what it deletes comes and goes evenly
LEAST_DAYS = 30  # to compare after that
# Business rows are never deleted, and neither is what people did about dead letters, nor the tables
# in which people query events.
KEPT = ("fulfillment.fulfillment", "fulfillment.rejection", "fulfillment.dead_letter_act")
KEPT_IN_LAKE = ("landed/dead-letter.events",)
EVENT_TABLES = "events/"


class Tolerance(NamedTuple):
    """How much larger something may become: so many times, and so much more."""

    times: float
    more: float  # for what is small: a file or two, a page of a table, a busy second


TOLERANCES = {
    "rows": Tolerance(1.02, 2_000),
    "MiB of tables": Tolerance(1.1, 2),
    "MiB of the lake": Tolerance(1.05, 2),
    "MiB of the write-ahead log": Tolerance(1.1, 64),
    "data files": Tolerance(1.1, 12),
    "files of Delta's logs": Tolerance(1.1, 24),
    "other files of the lake": Tolerance(1.1, 24),
    SECONDS: Tolerance(1.2, 5),
}


def as_series(days: Sequence[Day]) -> Series:
    """Return the points of each line, by measure and place."""
    series: Series = {}
    for day in days:
        for name, places in day.measures.items():
            for place, value in places.items():
                lines = series.setdefault(name, {})
                lines.setdefault(place, []).append((day.number, value))
    return series


def is_long_enough(days: Sequence[Day]) -> bool:
    """Return whether so many days were lived that growth could be seen."""
    return len(days) >= LONGEST + SETTLING + LEAST_DAYS


def growing(days: Sequence[Day]) -> Iterator[str]:
    """Yield what is larger in the last third of the days after the longest age than in the first.

    Each third is taken by its median: one slow day is none of this.
    """
    settled = [day for day in days if day.number > LONGEST + SETTLING]
    third = len(settled) // 3
    if not third:
        return
    first_days, last_days = settled[:third], settled[-third:]
    first, last = as_series(first_days), as_series(last_days)
    for name, places in last.items():
        for place, points in places.items():
            if is_kept(place):
                continue
            early = middle(first.get(name, {}).get(place, [(0, 0.0)]))
            late = middle(points)
            tolerance = TOLERANCES[name]
            if late > tolerance.times * early + tolerance.more:
                yield f"{name} of {place}: {late:,g}, {early:,g} at first"


def is_kept(place: str) -> bool:
    """Return whether something grows on purpose."""
    return place in (*KEPT, *KEPT_IN_LAKE) or place.startswith(EVENT_TABLES)


def middle(points: Points) -> float:
    """Return the median of the values."""
    values = sorted(value for _, value in points)
    return values[len(values) // 2]
