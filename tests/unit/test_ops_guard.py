"""What the guard makes of what it sees, and when it restarts a task."""

import math
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from arro3.core import Array, DataType, Table
from deltalake import write_deltalake
from prometheus_client import REGISTRY

from ops.guard import pulse
from ops.guard.findings import (
    LATE_SECONDS,
    MOST_WRITTEN,
    SILENT_SECONDS,
    Seen,
    SlotSeen,
    judge,
)
from ops.guard.look import Look, Slot, Task
from ops.guard.metrics import NAMES, show_runs
from ops.guard.pulse import RENEW_SECONDS, Line, Pulses
from ops.guard.restarts import PAUSES, WELL_AGAIN_SECONDS, Restarts
from ops.trace.lake import LastRuns, read_last_runs
from spark.run_id import began_at
from tests.builders import Clock

WELL = Slot(
    outbox="fulfillment",
    exists=True,
    active=True,
    wal_status="reserved",
    written=1_000,
    confirmed=1_000,
    held=500,
    left=None,
    is_published=True,
)
RUNNING = Task("fulfillment-outbox", 0, "RUNNING", "")


def names(*looks: tuple[float, Slot], tasks: list[Task] | None = None) -> list[str]:
    """Return what is not well at the last of these looks."""
    seen = Seen()
    for at, slot in looks:
        look = Look(at, [RUNNING] if tasks is None else tasks, [slot], lag=0, bursts=[])
        seen.see(look)
    return [finding.name for finding in judge(look, seen)]


def test_a_slot_that_moves_is_well() -> None:
    """Heartbeats move it, though nobody writes an event."""
    later = WELL._replace(written=2_000, confirmed=2_000)
    assert names((0, WELL), (SILENT_SECONDS + 1, later)) == []


@pytest.mark.parametrize("active", [True, False])
def test_a_slot_that_does_not_move_is_silent(active: bool) -> None:
    """Its task may say RUNNING, and its reader may be there: nothing is confirmed."""
    silent = WELL._replace(active=active)
    assert names((0, WELL), (SILENT_SECONDS - 1, silent)) == []
    assert names((0, WELL), (SILENT_SECONDS + 1, silent)) == ["slot_silent"]


def test_events_are_late_when_what_was_written_is_not_confirmed_for_long() -> None:
    """A slot that moves, and does not keep up. Control: one that keeps up is well."""
    behind = [
        (at, WELL._replace(written=1_000 + 10 * at, confirmed=1_000 + at))
        for at in range(0, int(LATE_SECONDS) + 30, 2)
    ]
    assert names(*behind) == ["events_late"]
    keeps_up = [(at, slot._replace(confirmed=slot.written)) for at, slot in behind]
    assert names(*keeps_up) == []


def test_a_slot_that_grows_towards_its_limit_is_said_before_it_is_lost() -> None:
    """At ten bytes a second, 1,000 bytes are left for less than two minutes.

    Control: at the same growth a limit far away is nobody's concern.
    """
    looks = [
        (
            at,
            WELL._replace(held=500 + 10 * at, confirmed=1_000 + at, written=1_000 + at, left=1_000),
        )
        for at in range(0, 20, 2)
    ]
    assert names(*looks) == ["slot_filling"]
    assert names(*[(at, slot._replace(left=10**9)) for at, slot in looks]) == []


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        ({"exists": False, "wal_status": "missing"}, "slot_lost"),
        ({"wal_status": "lost"}, "slot_lost"),
        ({"wal_status": "unreserved"}, "slot_filling"),
        ({"is_published": False}, "publication_missing"),
    ],
)
def test_what_loses_events_is_left_to_a_person(broken: dict[str, Any], name: str) -> None:
    """Each is named with its way out."""
    slot = WELL._replace(**broken)
    assert names((0, slot)) == [name]
    look = Look(0, [], [slot], 0, [])
    seen = Seen()
    seen.see(look)
    [finding] = judge(look, seen)
    assert finding.way_out


def test_each_finding_has_its_metric() -> None:
    """A name that the metrics do not know would be counted nowhere."""
    failed = Task("a", 0, "FAILED", "why")
    paused = Task("b", 0, "PAUSED", "")
    look = Look(0, None, None, None, ["dead letters", "audit refusals"])
    found = [finding.name for finding in judge(look, Seen())]
    found += names((0, WELL), tasks=[failed, paused])
    assert set(found) == {"no_answer", "refused", "task_failed", "task_paused"}
    assert set(found) <= set(NAMES)


def test_a_failed_task_is_restarted_at_once_then_ever_later_and_not_for_ever() -> None:
    """The sum of all pauses is below four minutes; then a person has to look."""
    restarts = Restarts()
    restarted = [now for now in range(1_000) if restarts.is_due(float(now))]
    pauses = [later - before for before, later in pairwise(restarted)]
    assert restarted[0] == 0
    assert pauses == [int(pause) for pause in PAUSES[1:]]
    assert restarts.is_given_up


def test_a_task_that_has_run_for_long_has_its_restarts_back() -> None:
    """Control: one that runs for a moment between two failures has not."""
    restarts = Restarts()
    while not restarts.is_given_up:
        restarts.is_due(1_000.0 * len(restarts.tried_at))
    restarts.note_well(10_000.0)
    restarts.note_well(10_000.0 + WELL_AGAIN_SECONDS - 1)
    assert not restarts.is_due(10_000.0 + WELL_AGAIN_SECONDS)
    restarts.note_well(20_000.0)
    restarts.note_well(20_000.0 + WELL_AGAIN_SECONDS)
    assert restarts.is_due(20_001.0 + WELL_AGAIN_SECONDS)


def test_a_slot_that_is_silent_for_days_takes_no_more_memory() -> None:
    """How long its oldest change waits is known all the same."""
    seen = SlotSeen()
    looks = 5 * MOST_WRITTEN
    for look in range(looks):
        seen.see(WELL._replace(written=2_000 + look), 2.0 * look)
    assert len(seen.written) <= MOST_WRITTEN
    assert seen.waits_for(2.0 * looks) == 2.0 * looks


def lake_of(folder: Path, runs: dict[str, bool]) -> str:
    """Return a lake in which these reconciliations have run, good or not."""
    ids = Array(list(runs), DataType.utf8())
    oks = Array(list(runs.values()), DataType.bool())
    rows = Table.from_pydict({"run_id": ids, "ok": oks})
    write_deltalake(str(folder / "reconcile" / "run"), rows)
    return str(folder)


def test_the_last_reconciliation_and_the_last_good_one_are_known(tmp_path: Path) -> None:
    """By their own times; where none has run, or none was good, nothing is made up."""
    assert read_last_runs(str(tmp_path)) is None
    first, second = "20261120T100000.000000Z", "20261121T100000.000000Z"
    found = read_last_runs(lake_of(tmp_path, {first: True, second: False}))
    assert found == LastRuns(began_at(second), began_at(first), None)
    never_good = read_last_runs(lake_of(tmp_path / "other", {first: False}))
    assert never_good == LastRuns(began_at(first), None, None)
    noted = Table.from_pydict({"run_id": Array([first], DataType.utf8())})
    write_deltalake(str(tmp_path / "reconcile" / "retention"), noted)
    with_retention = read_last_runs(str(tmp_path))
    assert with_retention is not None
    assert with_retention.last_retention == began_at(first)


def test_when_reconciliation_ran_is_a_metric() -> None:
    """While its lake does not answer, what was known stays."""
    at = datetime(2026, 11, 20, 10, tzinfo=UTC)
    show_runs(LastRuns(at, None, at))
    assert REGISTRY.get_sample_value("reconcile_last_timestamp_seconds") == at.timestamp()
    assert REGISTRY.get_sample_value("reconcile_last_good_timestamp_seconds") == 0
    assert REGISTRY.get_sample_value("retention_last_timestamp_seconds") == at.timestamp()
    show_runs(None)
    assert REGISTRY.get_sample_value("reconcile_last_timestamp_seconds") == at.timestamp()


class Silent:
    """A producer and a consumer that nothing comes back to."""

    def __init__(self) -> None:
        self.flushed = 0

    def consume(self, _count: int, _seconds: float) -> list[Any]:
        """Return nothing."""
        return []

    def flush(self, _seconds: float) -> None:
        """Count it."""
        self.flushed += 1


def test_clients_that_no_pulse_comes_back_to_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was told of no brokers may never find one again; what it holds may still go out."""
    clock = Clock()
    opened: list[Silent] = []

    def open_line(_env: Any) -> Line:
        client: Any = Silent()
        opened.append(client)
        return Line(client, client, iter(()))

    monkeypatch.setattr(pulse, "time", clock)
    monkeypatch.setattr(pulse, "open_line", open_line)
    pulses = Pulses(cast("Any", {}), 1, lambda _hop, _seconds: None, next_at=math.inf)
    counts = []
    for seconds in (0, RENEW_SECONDS, 1):
        clock.now += seconds
        pulses.beat()
        counts.append(len(opened))
    assert counts == [1, 1, 2]
    assert [client.flushed for client in opened] == [1, 0]
