"""The simulated year: which ages it gives to retention, and what it calls growth."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.year.ages import AGES, FAR_TOO_OLD, LONGEST, age_delta_logs, scale
from lab.year.command import Choice, describe, is_flat
from lab.year.day import COMPACT, LANDED, SECONDS, Day, is_compaction_due
from lab.year.growth import KEPT, KEPT_IN_LAKE, TOLERANCES, growing, is_long_enough
from lab.year.page import lines, thin_line, write
from spark.settings import SECONDS_OF_A_DAY, Settings

DAYS = 200
TRACKING = "fulfillment.tracking"


def day(number: int, **measures: dict[str, float]) -> Day:
    """A good day on which this was measured."""
    return Day(number, 1_000_000.0 + number, True, "verdict: good", {}, measures)


def rows(place: str, of_day: list[float]) -> list[Day]:
    """Days on which a table had so many rows."""
    return [day(number, rows={place: value}) for number, value in enumerate(of_day, 1)]


def choice(days: int = DAYS) -> Choice:
    """What nobody has asked for otherwise."""
    return Choice(days, orders=10, seed=1, minutes=1, resume=False, output=None)


def test_an_age_is_as_long_ago_as_that_day_began() -> None:
    """However long days last, 8 days of age mean: before the eighth day before this one."""
    first = time.time() - 20 * 60
    began = [first + 60 * number for number in range(21)]
    scaled = scale(Settings(), began)
    seconds = SECONDS_OF_A_DAY * scaled.retention_outbox_days
    wanted = 60 * AGES["retention_outbox_days"]
    assert seconds == pytest.approx(wanted, abs=5)
    assert scaled.retention_landed_days == FAR_TOO_OLD


def test_the_files_of_a_delta_log_become_a_day_older(tmp_path: Path) -> None:
    """Only those of the log: data files are deleted by what the log says of them."""
    log = tmp_path / "landed" / "order.events" / "_delta_log"
    log.mkdir(parents=True)
    files = [log / "00000000000000000000.json", log.parent / "part.parquet"]
    for file in files:
        file.touch()
        os.utime(file, (500_000, 500_000))
    age_delta_logs(tmp_path)
    assert [file.stat().st_mtime for file in files] == [500_000 - SECONDS_OF_A_DAY, 500_000]


def test_the_lake_is_compacted_once_a_week() -> None:
    """Later, if landed rows were deleted today: the next run has to read what was deleted."""
    compacted = {SECONDS: {COMPACT: 9.0}}
    other: dict[str, dict[str, float]] = {SECONDS: {}}
    five_days = [day(number, **other) for number in range(2, 7)]
    six_days = [day(1, **compacted), *five_days]
    week = [*six_days, day(7, **other)]
    assert is_compaction_due([], {})
    assert not is_compaction_due(six_days, {})
    assert is_compaction_due(week, {"tracking": 5})
    assert not is_compaction_due(week, {LANDED: 5})


@pytest.mark.parametrize(
    ("of_day", "grows"),
    [
        ([min(number, 15) * 10_000 for number in range(DAYS)], False),
        ([number * 10_000 for number in range(DAYS)], True),
        ([500_000 + number * 2_000 for number in range(DAYS)], True),
        ([500_000 if number < DAYS - 1 else 5_000_000 for number in range(DAYS)], False),
    ],
    ids=["flat after its age", "never deleted", "a hundredth a day stays", "one odd day"],
)
def test_growth_is_told_from_what_comes_and_goes(of_day: list[float], *, grows: bool) -> None:
    """The last days are compared with the first after the longest age, by their medians."""
    found = list(growing(rows(TRACKING, of_day)))
    assert bool(found) == grows, found
    assert all(TRACKING in sentence for sentence in found)


@pytest.mark.parametrize(
    ("name", "of_day", "grows"),
    [
        ("MiB of the write-ahead log", lambda number: 400 + 4 * number, False),
        ("MiB of the write-ahead log", lambda number: 400 + 8 * number, True),
        ("files of Delta's logs", lambda number: number, False),
        ("files of Delta's logs", lambda number: 2 * number, True),
    ],
    ids=[
        "write-ahead log to use again",
        "control: write-ahead log held by a slot",
        "log that is not cut yet",
        "control: log that is never cut",
    ],
)
def test_what_comes_and_goes_over_more_than_a_year_is_no_growth(
    name: str, of_day: Callable[[int], float], *, grows: bool
) -> None:
    """PostgreSQL keeps segments, and an idle table's log is cut after a hundred entries."""
    lived = [day(number, **{name: {"somewhere": of_day(number)}}) for number in range(DAYS)]
    assert bool(list(growing(lived))) == grows


def test_what_is_kept_on_purpose_may_grow() -> None:
    """Fulfillments, rejections, dead letters and event tables are not deleted."""
    for place in (*KEPT, *KEPT_IN_LAKE, "events/order-fulfilled"):
        assert not list(growing(rows(place, [number * 1_000 for number in range(DAYS)])))


def test_too_few_days_say_nothing() -> None:
    """Before the longest age everything grows, and nobody claims that it does or does not."""
    of_day = [number * 10_000.0 for number in range(LONGEST)]
    few = rows(TRACKING, of_day)
    assert not is_long_enough(few)
    found = describe(few, choice(), "a machine")
    text = " ".join(lines(found))
    assert "too few days" in text
    assert is_flat(found)


def test_a_bad_verdict_is_named_with_its_day() -> None:
    """The year has failed then, whatever grows."""
    bad = day(2)._replace(ok=False, verdict="verdict: 1 missing")
    found = describe([day(1), bad], choice(), "a machine")
    assert found["not_ok"] == ["day 2: verdict: 1 missing"]
    assert not is_flat(found)


def test_the_page_has_every_measure_and_its_picture(tmp_path: Path) -> None:
    """Each measure is a chart, and each line a row of the table, with the median of each third."""
    measures = {name: {"somewhere": 30_000.0} for name in TOLERANCES}
    lived = [day(number, **measures) for number in range(1, DAYS + 1)]
    write(describe(lived, choice(), "a machine"), tmp_path / "year.md")
    page = (tmp_path / "year.md").read_text()
    picture = (tmp_path / "year.svg").read_text()
    for name in measures:
        assert f"| {name} | somewhere | 30,000 | 30,000 | 30,000 | 30,000 |" in page
        assert name in picture
    assert "| days 111 to 140 | days 141 to 170 | days 171 to 200 | largest |" in page
    assert "nothing has grown" in page
    assert SECONDS in picture


def test_the_picture_ends_with_the_last_day() -> None:
    """A long line has fewer points, and still the last one."""
    line = list(enumerate([1.0] * 365))
    points = thin_line(line)
    assert points[-1] == line[-1]
    assert len(points) < len(line)


def test_the_table_has_medians_and_the_largest(tmp_path: Path) -> None:
    """One odd day is the largest, and no median; what is always small is left out."""
    usual = day(1, rows={TRACKING: 5_000.0, "fulfillment.heartbeat": 1.0})
    lived = [usual._replace(number=number) for number in range(1, DAYS)]
    lived.append(day(DAYS, rows={TRACKING: 70_000.0, "fulfillment.heartbeat": 1.0}))
    page = tmp_path / "year.md"
    write(describe(lived, choice(), "a machine"), page)
    text = page.read_text()
    assert f"| rows | {TRACKING} | 5,000 | 5,000 | 5,000 | 70,000 |" in text
    assert "heartbeat" not in text


def test_a_third_without_a_value_stays_empty(tmp_path: Path) -> None:
    """Only the last day compacts."""
    usual = {SECONDS: {"retention": 3.0}}
    weekly = {SECONDS: {"retention": 3.0, COMPACT: 9.0}}
    lived = [day(number, **usual) for number in range(1, DAYS)]
    lived.append(day(DAYS, **weekly))
    page = tmp_path / "year.md"
    write(describe(lived, choice(), "a machine"), page)
    assert f"| {SECONDS} | compact |  |  | 9 | 9 |" in page.read_text()


@pytest.mark.parametrize("days", [0, 1, 2, 5])
def test_a_short_year_has_a_page(tmp_path: Path, days: int) -> None:
    """All of its days are compared then, as many as there are."""
    lived = rows(TRACKING, [5_000.0] * days)
    page = tmp_path / "year.md"
    write(describe(lived, choice(), "a machine"), page)
    assert "too few days to say what grows" in page.read_text()
