"""Pulses on the whole way: they measure it, and nobody counts them."""

import pytest

from contract.pulse import PULSE_TOPIC
from ops.guard.pulse import Pulses
from ops.stack.stack import Stack
from tests.client import away, exactly_one, query, until, until_handled
from tests.load import orders
from tests.reconciliation import all_matched, hop
from tests.refusing import changed
from tests.stacks import JudgeSince

SECONDS = 60


class Shown:
    """What pulses have shown, by hop."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def show(self, name: str, seconds: float) -> None:
        """Note how long the last one took."""
        self.seconds.setdefault(name, []).append(seconds)

    def count(self, name: str) -> int:
        """Return how many have come to a hop."""
        return len(self.seconds.get(name, []))


def until_published(pulses: Pulses, shown: Shown, count: int, seconds: float = SECONDS) -> None:
    """Send pulses until so many have come through."""

    def beat() -> int:
        pulses.beat()
        return shown.count("published")

    until(beat, lambda found: found >= count, seconds, "no pulse comes through")


def test_pulses_measure_the_way_and_are_not_counted(stack: Stack, judge_next: JudgeSince) -> None:
    """Between orders they come through, in less than a second; all of it reconciles.

    They leave no row but their event; after them, everything is handled and committed.
    """
    before = query("select count(*) from tracking")
    shown = Shown()
    pulses = Pulses(stack.env(), 0.2, shown.show)
    until_published(pulses, shown, 3)
    ids = orders(50)
    until_published(pulses, shown, 12)
    until_handled()
    for hop_name in ("handled", "published"):
        assert min(shown.seconds[hop_name]) < 1
    assert min(shown.seconds["handled"]) <= min(shown.seconds["published"])
    [(after,)] = query("select count(*) from tracking")
    assert after == before[0][0] + len(ids)
    result = all_matched(judge_next())
    assert hop(result, f"outbox → {PULSE_TOPIC}")["matched"] >= 12


def test_where_the_way_is_shut_no_pulse_comes_through(spoiled: Stack) -> None:
    """With Connect away none comes; when it is back, those that were sent do."""
    shown = Shown()
    pulses = Pulses(spoiled.env(), 0.2, shown.show)
    until_published(pulses, shown, 1)
    with away(spoiled, "connect"):
        came = shown.count("published")
        with pytest.raises(AssertionError, match="no pulse comes through"):
            until_published(pulses, shown, came + 5, seconds=5)
    until_published(pulses, shown, came + 5)
    assert max(shown.seconds["published"]) > 1


def test_a_pulse_that_has_landed_is_seen(stack: Stack) -> None:
    """What the checkpoint of the landing says counts: below its end, a pulse has landed."""
    shown = Shown()
    pulses = Pulses(stack.env(), 0.2, shown.show)
    until_published(pulses, shown, 1)
    partition, passed = next(iter(pulses.to_land.items()))
    pulses.look_at_landing({PULSE_TOPIC: {str(partition): passed.offset}})
    assert shown.count("landed") == 0
    pulses.look_at_landing({PULSE_TOPIC: {str(partition): passed.offset + 1}})
    assert shown.count("landed") == 1


def test_a_pulse_that_is_refused_holds_nobody_up(spoiled: Stack) -> None:
    """Where the outbox does not take it, the service says so, and messages go on."""
    shown = Shown()
    pulses = Pulses(spoiled.env(), 0.2, shown.show)
    with changed(
        "alter table outbox add constraint no_pulse check (aggregate_type <> 'pulse') not valid",
        "alter table outbox drop constraint no_pulse",
    ):
        pulses.beat()
        log = spoiled.log("service").read_text
        until(log, lambda text: "pulse_refused" in text, SECONDS, "no pulse is refused")
        ids = orders(5)
        until_handled()
    exactly_one(ids)
    until_published(pulses, shown, 1)
