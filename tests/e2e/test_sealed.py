"""What was judged is not judged again; what comes later is judged, wherever it belongs."""

import shutil
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from contract.names import INPUT_TOPIC, SUBSCRIBER
from ops.stack.stack import Stack
from spark.hops import input_to_tracking
from spark.judging.horizon import (
    Horizon,
    NotCheckedError,
    write_horizon,
)
from spark.lease import hold_lease
from tests.builders import value
from tests.client import Sent, away, fresh, send, until_handled
from tests.e2e.test_reconcile import event_of, publish
from tests.load import load, orders
from tests.reconciliation import all_matched, hop
from tests.stacks import JudgeSince


def tracked(result: dict[str, Any]) -> int:
    """How many records the run has judged."""
    names = [row["hop"] for row in result["hops"]]
    name = input_to_tracking(INPUT_TOPIC)
    return int(hop(result, name)["in"]) if name in names else 0


def test_only_what_came_since_is_judged(stack: Stack, judge_next: JudgeSince) -> None:
    """Ten orders and two messages of old orders after a run: twelve records are judged.

    A redelivery of an old message is one duplicate removed; a second message for an old order is
    rejected for the right winner. A run after that has nothing to judge.
    """
    old = orders(20)
    until_handled()
    before = all_matched(judge_next())
    assert tracked(before) >= len(old)
    orders(10)
    again = Sent(old[0], old[0], value(old[0]))
    second = Sent(fresh("second"), old[1], value(old[1]))
    send([again, second])
    until_handled()

    result = all_matched(judge_next())

    assert result["since"]["run_id"] == before["run_id"]
    assert tracked(result) == 12
    assert hop(result, input_to_tracking(INPUT_TOPIC))["duplicates_removed"] == 1
    assert hop(result, "tracking → fulfillment")["rejected"] == 1
    assert tracked(all_matched(judge_next())) == 0


@pytest.mark.prove
def test_events_that_are_published_again_are_removed(stack: Stack, judge_since: JudgeSince) -> None:
    """Old events that Connect publishes again, as after a loss of its offsets, are duplicates."""
    old = orders(5)
    until_handled()
    all_matched(judge_since())
    for message_id in old:
        publish("fulfillment.events", event_of(message_id))

    result = all_matched(judge_since())

    assert hop(result, "outbox → fulfillment.events")["duplicates_removed"] == 5


ALL_WITHIN = 10  # runs


@pytest.mark.prove
@pytest.mark.parametrize("runs", [3, 100])
def test_under_load_no_run_raises_a_false_alarm(
    stack: Stack, judge_since: JudgeSince, runs: int
) -> None:
    """While orders and repeats come, and service and Connect are killed, every run is good.

    The old is confirmed in turn, and what was late is judged in the end.
    """
    until_handled()
    judge = partial(judge_since, reconcile_all_every=ALL_WITHIN)
    results = [all_matched(judge(full=True))]
    with load(bursts=1_000_000, pause=0.5) as sent:
        for run in range(runs):
            kill(stack, run)
            send([Sent(again, again, value(again)) for again in sent[-20:]])
            results.append(all_matched(judge()))
    until_handled(300)
    results.append(all_matched(judge()))

    assert all(result["since"] for result in results[1:])
    assert any(row["late"] for result in results for row in result["hops"]), "nothing was late"
    assert not any(row["late"] for row in results[-1]["hops"])
    judged = sum(tracked(result) for result in results)
    assert judged >= tracked(all_matched(judge(full=True)))
    confirmed_at = [result["confirmed"]["oldest_at"] for result in results]
    assert confirmed_at == sorted(confirmed_at)
    assert runs < ALL_WITHIN or confirmed_at[-1] > confirmed_at[0]


def kill(stack: Stack, run: int) -> None:
    """Kill the service in each third run, and Connect in another third; both start again."""
    if run % 3 == 1:
        with away(stack, "service", SIGKILL):
            pass
    if run % 3 == 2:
        with away(stack, "connect", SIGKILL):
            pass
        for name, command in stack.part("connect").then.items():
            stack.run(name, command)


@pytest.mark.prove
def test_what_was_late_is_judged_later(stack: Stack, judge_since: JudgeSince) -> None:
    """Under load each run leaves some ids open; the runs after it judge every one, and no alarm."""
    until_handled()
    before = tracked(all_matched(judge_since(full=True)))
    with load(bursts=300, pause=0.1):
        results = [all_matched(judge_since()) for _ in range(4)]
    until_handled()
    results.append(all_matched(judge_since()))
    late = [sum(row["late"] for row in result["hops"]) for result in results]
    assert sum(late[:-1]) > 0, "nothing was late: this proved nothing"
    assert late[-1] == 0
    judged = sum(tracked(result) for result in results)
    assert before + judged >= tracked(all_matched(judge_since(full=True)))


@pytest.mark.prove
@pytest.mark.parametrize(
    "step",
    [
        "reconcile.store_outcomes",
        "judging.seal.find_open",
        "judging.seal.write_open",
        "judging.seal.write_horizon",
    ],
)
def test_a_run_that_is_killed_changes_nothing(
    stack: Stack, judge_since: JudgeSince, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A run that ends before its horizon is written: the next one starts from the one before it."""
    orders(5)
    until_handled()
    first = all_matched(judge_since())
    orders(5)
    until_handled()
    kill_at(step, judge_since, monkeypatch)

    result = all_matched(judge_since())
    assert result["since"]["run_id"] == first["run_id"]
    assert tracked(result) == 5


@pytest.mark.prove
def test_a_run_that_is_killed_after_its_horizon_has_judged(
    stack: Stack, judge_since: JudgeSince, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its report is missing: the next run starts from it, and has nothing to judge."""
    orders(5)
    until_handled()
    first = all_matched(judge_since())
    orders(5)
    until_handled()
    kill_at("reconcile.store_run", judge_since, monkeypatch)

    result = all_matched(judge_since())
    assert result["since"]["run_id"] > first["run_id"]
    assert result["since"]["runs"] == 2
    assert tracked(result) == 0


def kill_at(step: str, judge_since: JudgeSince, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a run, and end it where this step would begin; on its way, ids are late."""

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        # So that outcomes are stored.
        patched.setattr("spark.judging.outcome.count_open", lambda _counts: 1)
        patched.setattr(f"spark.{step}", die)
        with pytest.raises(KeyboardInterrupt):
            judge_since()


def test_of_two_runs_at_once_one_says_so(
    spark: SparkSession,
    stack: Stack,
    judge_since: JudgeSince,
    delta_root: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While one is at work, another one ends with exit code 2, and leaves nothing behind."""
    at_work = hold_lease(spark, str(delta_root), f"reconcile-{SUBSCRIBER}")
    with at_work, pytest.raises(SystemExit) as ended:
        judge_since()
    assert ended.value.code == 2
    assert "another reconcile is at work" in capsys.readouterr().err
    assert not (delta_root / "reconcile").exists()


@pytest.mark.prove
def test_a_lost_horizon_is_made_again(
    stack: Stack, judge_since: JudgeSince, delta_root: Path
) -> None:
    """Without it, everything is judged, and the run after that starts from there."""
    orders(5)
    until_handled()
    all_matched(judge_since())
    shutil.rmtree(delta_root / "reconcile" / "horizon")
    everything = all_matched(judge_since())
    assert everything["since"] is None
    assert all_matched(judge_since())["since"]["run_id"] == everything["run_id"]


@pytest.mark.prove
def test_a_lake_that_is_compacted_has_not_changed(
    stack: Stack, judge_since: JudgeSince, spark: SparkSession, delta_root: Path
) -> None:
    """Files that are only written again bring nothing to judge."""
    orders(5)
    until_handled()
    all_matched(judge_since())
    orders(5)
    until_handled()
    all_matched(judge_since())
    DeltaTable(delta_root / "landed" / INPUT_TOPIC).optimize.compact()
    assert tracked(all_matched(judge_since())) == 0


@pytest.mark.prove
def test_nothing_is_checked_on_another_ground(
    stack: Stack, judge_since: JudgeSince, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restored database there is no verdict until everything is judged."""

    def write_later(spark: SparkSession, delta_root: str, subscriber: str, one: Horizon) -> None:
        moment = one.moments["fulfillment"]._replace(timeline=9)
        moments = {**one.moments, "fulfillment": moment}
        write_horizon(spark, delta_root, subscriber, one._replace(moments=moments))

    with monkeypatch.context() as patched:
        patched.setattr("spark.judging.seal.write_horizon", write_later)
        judge_since()
    with pytest.raises(NotCheckedError, match="database fulfillment has failed over"):
        judge_since()
    assert judge_since(full=True)["since"] is None
    assert judge_since()["since"]
