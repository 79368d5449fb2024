"""What grows though it should not: the last days are compared with those after the longest age."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lab.year.ages import LONGEST
from lab.year.day import SECONDS, Day

Days = Sequence[Day]
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
    free: float = 0  # up to here it may become large at any time


# Up to max_wal_size, 1 GiB, PostgreSQL keeps what it has written to use it again, as much as it
# thinks the next checkpoint needs; what comes until then is above that.
WAL_TO_USE_AGAIN = 1_280
# At every hundredth entry a log has a checkpoint, and is cut back to the one before. So it has up
# to two hundred: with two entries a week, after two years.
LOG_UNTIL_IT_IS_CUT = 208

TOLERANCES = {
    "rows": Tolerance(1.02, 2_000),
    "MiB of tables": Tolerance(1.1, 2),
    "MiB of the lake": Tolerance(1.05, 2),
    "MiB of the write-ahead log": Tolerance(1.1, 64, free=WAL_TO_USE_AGAIN),
    "data files": Tolerance(1.1, 12),
    "files of Delta's logs": Tolerance(1.1, 24, free=LOG_UNTIL_IT_IS_CUT),
    "other files of the lake": Tolerance(1.1, 24),
    SECONDS: Tolerance(1.2, 5),
}


def as_series(days: Days) -> Series:
    """Return the points of each line, by measure and place."""
    series: Series = {}
    for day in days:
        for name, places in day.measures.items():
            for place, value in places.items():
                lines = series.setdefault(name, {})
                lines.setdefault(place, []).append((day.number, value))
    return series


def is_long_enough(days: Days) -> bool:
    """Return whether so many days were lived that growth could be seen."""
    return len(days) >= LONGEST + SETTLING + LEAST_DAYS


def thirds(days: Days) -> tuple[Days, Days, Days]:
    """Return the days after the longest age in three parts; of a short year, all of its days."""
    compared = settled(days) if is_long_enough(days) else days
    third = max(1, len(compared) // 3)
    last = len(compared) - third
    return (
        compared[:third],
        compared[third:last],
        compared[last:],
    )


def settled(days: Days) -> Days:
    """Return the days on which as much goes as comes."""
    return [day for day in days if day.number > LONGEST + SETTLING]


def growing(days: Days) -> Iterator[str]:
    """Yield what is larger in the last third of the days after the longest age than in the first.

    Each third is taken by its median: one slow day is none of this.
    """
    if not is_long_enough(days):
        return
    first_days, _, last_days = thirds(days)
    first, last = as_series(first_days), as_series(last_days)
    for name, places in last.items():
        for place, points in places.items():
            if is_kept(place):
                continue
            early = median_of(first, name, place) or 0.0
            late = middle(points)
            if late > most_allowed(TOLERANCES[name], early):
                yield f"{name} of {place}: {late:,g}, {early:,g} at first"


def most_allowed(tolerance: Tolerance, early: float) -> float:
    """Return what something may be in the end that was so much at first."""
    return max(tolerance.free, tolerance.times * early + tolerance.more)


def is_kept(place: str) -> bool:
    """Return whether something grows on purpose."""
    return place in (*KEPT, *KEPT_IN_LAKE) or place.startswith(EVENT_TABLES)


def median_of(series: Series, name: str, place: str) -> float | None:
    """Return the median of a line, or None if it has no points, as a compaction in few days."""
    points = series.get(name, {}).get(place)
    return middle(points) if points else None


def middle(points: Points) -> float:
    """Return the median of the values."""
    values = sorted(value for _, value in points)
    return values[len(values) // 2]
