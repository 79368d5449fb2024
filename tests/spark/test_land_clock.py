"""Landing while somebody sets the clock.

The lab sets it for the real job: land.clock.ahead and land.clock.behind.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark import land
from spark.lease import Lease
from spark.settings import Settings
from tests.spark.topics import HELD

HOUR = 3600.0


class Query:
    """A query that has ended after so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.stopped = False

    def awaitTermination(self, _timeout: float) -> bool:  # noqa: N802 - Spark's name
        """Return whether it has ended."""
        self.looks -= 1
        return self.looks <= 0

    def stop(self) -> None:
        """Note it."""
        self.stopped = True


class Clocks:
    """The time that passes, and a wall clock that is hours ahead for one second of it."""

    def __init__(self, trigger_at: float) -> None:
        self.now = 0.0
        self.trigger_at = trigger_at

    def lead(self) -> float:
        """Return how far ahead the wall clock is."""
        is_ahead = self.trigger_at <= self.now < self.trigger_at + 1
        return 5 * HOUR if is_ahead else 0.0


class QueryInTime(Query):
    """A query of a minute, whose looks take the time that they wait."""

    def __init__(self, clocks: Clocks) -> None:
        super().__init__(looks=0)
        self.clocks = clocks

    def awaitTermination(self, timeout: float) -> bool:  # noqa: N802 - Spark's name
        """Wait; return whether it has ended."""
        self.clocks.now += timeout
        return self.clocks.now > 60


def land_with(monkeypatch: pytest.MonkeyPatch, leads: Sequence[float]) -> list[Query]:
    """Land while the clock is this far ahead at each look; return the queries that it started."""
    looks: Iterator[float] = iter(leads)
    started: list[Query] = []

    def start(*_: Any, **__: Any) -> Query:
        started.append(Query(looks=3))
        return started[-1]

    monkeypatch.setattr(land, "clock_lead", lambda: next(looks))
    monkeypatch.setattr(land, "start_landing", start)
    land.land(cast("SparkSession", None), Settings(), [], HELD, once=False)
    return started


def test_a_clock_that_is_set_back_starts_the_query_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would wait until the wall clock shows the next batch's time again: for hours."""
    first, second = land_with(monkeypatch, [5 * HOUR, 5 * HOUR, 0.0, 0.0, 0.0, 0.0])
    assert first.stopped
    assert not second.stopped


@pytest.mark.parametrize("leads", [(0.0, 5 * HOUR, 5 * HOUR), (0.0, -0.5, -1.0)])
def test_a_clock_that_goes_on_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, leads: Sequence[float]
) -> None:
    """Control: neither a clock set ahead nor a correction below a trigger's length matters."""
    [only] = land_with(monkeypatch, leads)
    assert not only.stopped


@pytest.mark.parametrize("trigger_at", [1.0, 31.3, 42.7])
def test_a_clock_that_is_ahead_for_one_second_is_noticed(
    monkeypatch: pytest.MonkeyPatch, trigger_at: float
) -> None:
    """A trigger may fall into that second, and the next one is hours away then."""
    clocks = Clocks(trigger_at)
    monkeypatch.setattr(land, "clock_lead", clocks.lead)
    assert not land.ended(cast("StreamingQuery", QueryInTime(clocks)), 2, HELD)


def test_time_alone_ends_no_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: with a clock that stays right, the same query goes on to its end."""
    clocks = Clocks(trigger_at=1000)
    monkeypatch.setattr(land, "clock_lead", clocks.lead)
    assert land.ended(cast("StreamingQuery", QueryInTime(clocks)), 2, HELD)


def test_a_landing_that_has_lost_its_lease_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and exit code 2, although there is nothing to land that would be refused."""
    clocks = Clocks(trigger_at=1000)
    monkeypatch.setattr(land, "clock_lead", clocks.lead)
    lost = Lease(cast("SparkSession", None), "lease/land", 1, is_taken_over=False)
    lost.is_lost = True
    with pytest.raises(SystemExit) as ended:
        land.ended(cast("StreamingQuery", QueryInTime(clocks)), 2, lost)
    assert ended.value.code == 2
    assert "another one has taken over lease/land/1" in capsys.readouterr().err
