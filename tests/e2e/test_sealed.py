"""What was judged is not judged again; what comes later is found, wherever it belongs."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark.sql import SparkSession

from contract.names import INPUT_TOPIC
from ops.stack.stack import Stack
from spark.hops import input_to_tracking
from spark.horizon import (
    Horizon,
    NotCheckedError,
    next_transaction,
    read_horizon,
    write_horizon,
)
from spark.parts import load_parts
from spark.reconcile import run
from spark.settings import Settings
from spark.settled import Options
from tests.builders import value
from tests.client import Sent, connect, fresh, query, send, until_handled
from tests.e2e.test_reconcile import defects_in, event_of, publish
from tests.load import load, orders
from tests.reconciliation import all_matched, hop

Run = Callable[..., dict[str, Any]]

# Extras keep their topics, so that all that the stack has published lands, and lose their hops:
# with these, everything is judged each time.
PARTS = [part._replace(hops=()) for part in load_parts()]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A lake of this test's own."""
    return tmp_path / "delta"


@pytest.fixture
def judge(spark: SparkSession, root: Path) -> Run:
    """Land and reconcile, from the last run on unless everything is asked for."""

    def run_once(*, full: bool = False) -> dict[str, Any]:
        settings = Settings(delta_root=str(root), reconcile_all_orders=0)
        options = Options(land=True, ledger=None, deadline=time.monotonic() + 120, full=full)
        result = run(spark, settings, PARTS, options)
        spark.catalog.clearCache()
        return result

    return run_once


def tracked(result: dict[str, Any]) -> int:
    """How many records the run has judged."""
    names = [row["hop"] for row in result["hops"]]
    name = input_to_tracking(INPUT_TOPIC)
    return int(hop(result, name)["in"]) if name in names else 0


def found_in(root: Path, result: dict[str, Any]) -> set[tuple[str, str]]:
    """Outcome and id of every defect of a run."""
    return {(outcome, id_) for _, outcome, id_ in defects_in(root, result)}


def test_only_what_came_since_is_judged(stack: Stack, judge: Run) -> None:
    """Ten orders after a full run, of which two refer to old ones: twelve records are judged.

    A redelivery of an old message is one duplicate removed; a second message for an old order is
    rejected for the right winner. A run after that has nothing to judge.
    """
    old = orders(20)
    until_handled()
    everything = all_matched(judge(full=True))
    assert everything["since"] is None
    assert tracked(everything) >= len(old)
    orders(10)
    again = Sent(old[0], old[0], value(old[0]))
    second = Sent(fresh("second"), old[1], value(old[1]))
    send([again, second])
    until_handled()

    result = all_matched(judge())

    assert result["since"]["run_id"] == everything["run_id"]
    assert tracked(result) == 12
    assert hop(result, input_to_tracking(INPUT_TOPIC))["duplicates_removed"] == 1
    assert hop(result, "tracking → fulfillment")["rejected"] == 1
    assert tracked(all_matched(judge())) == 0


@pytest.mark.prove
def test_events_that_are_published_again_are_removed(stack: Stack, judge: Run) -> None:
    """Old events that Connect publishes again, as after a loss of its offsets, are duplicates."""
    old = orders(5)
    until_handled()
    all_matched(judge())
    for message_id in old:
        publish("fulfillment.events", event_of(message_id))

    result = all_matched(judge())

    assert hop(result, "outbox → fulfillment.events")["duplicates_removed"] == 5


def test_defects_on_both_sides_of_the_horizon_are_found(
    spoiled: Stack, judge: Run, root: Path
) -> None:
    """What goes wrong later is named by the next run, and by each one until it is repaired.

    Of new ids, and of those that were sealed: a second event and a second audit entry, an altered
    event, a landed row that is doubled or removed. What was changed in place is named by a run that
    judges everything.
    """
    names = ["second event", "audited twice", "altered", "total", "doubled", "removed"]
    ids = dict(zip(names, orders(len(names)), strict=True))
    until_handled()
    judge(full=True)

    columns = "aggregate_type, aggregate_id, event_type, traceparent, payload"
    with connect("fulfillment", "postgres") as admin:
        copy = f"""
            insert into outbox (event_id, {columns})
            select gen_random_uuid(), {columns}
            from outbox
            where payload->>'message_id' = %s and aggregate_type = 'fulfillment'
        """
        admin.execute(copy.encode(), [ids["second event"]])
        admin.execute(
            "update fulfillment set total = total + 0.01 where message_id = %s", [ids["total"]]
        )
    with connect("audit", "postgres") as admin:
        admin.execute(
            "insert into audit_entry select %s, gen_random_uuid(), message_id, order_id, outcome,"
            " fulfillment_id, total, body_sha256, answer from audit_entry where message_id = %s",
            [fresh("key"), ids["audited twice"]],
        )
    altered = event_of(ids["altered"])
    publish("fulfillment.events", altered, altered.value[:-1] + b" }")
    doubled, removed = (place_of(ids[name]) for name in ("doubled", "removed"))
    table = DeltaTable(root / "landed" / INPUT_TOPIC)
    row = QueryBuilder().register("landed", table).execute(f"select * from landed where {doubled}")
    write_deltalake(table, row.read_all(), mode="append")
    table.delete(removed)
    [new] = orders(1)
    until_handled()
    with connect("fulfillment", "postgres") as admin:
        admin.execute("delete from fulfillment where message_id = %s", [new])

    expected = {
        ("duplicate", ids["second event"]),
        ("duplicate", ids["audited twice"]),
        ("different", altered.headers["id"].decode()),
        ("duplicate", position_of(ids["doubled"])),
        ("missing", position_of(ids["removed"])),
        ("missing", new),
    }
    assert expected <= found_in(root, judge())
    still_open = judge()
    assert still_open["since"]["runs"] == 2
    found = found_in(root, still_open)
    assert expected <= found
    assert ("different", ids["total"]) not in found
    assert ("different", ids["total"]) in found_in(root, judge(full=True))


def place_of(message_id: str) -> str:
    """SQL for the landed row of a message."""
    partition, offset = position_of(message_id).split("/")[1:]
    return f'partition = {partition} and "offset" = {offset}'


def position_of(message_id: str) -> str:
    """Where the record of a message is."""
    [(position,)] = query(
        """select concat_ws('/', topic, partition, "offset") from tracking where message_id = %s""",
        message_id,
    )
    return str(position)


def test_a_transaction_that_commits_late_is_not_missed(
    spoiled: Stack, judge: Run, root: Path
) -> None:
    """A row that was written before a run and committed after it is read by the next one."""
    assert is_late_row_found(judge, root)


@pytest.mark.prove
def test_control_a_horizon_of_one_number_misses_a_late_commit(
    spoiled: Stack, judge: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: if only the greatest transaction were kept, the row would never be read."""

    def read_greatest(spark: SparkSession, delta_root: str, subscriber: str) -> Horizon | None:
        horizon = read_horizon(spark, delta_root, subscriber)
        if horizon is None:
            return None
        greatest = {name: next_transaction(one) for name, one in horizon.moments.items()}
        moments = {
            name: one._replace(transactions=f"{greatest[name]}:{greatest[name]}:")
            for name, one in horizon.moments.items()
        }
        return horizon._replace(moments=moments, read_from=greatest)

    monkeypatch.setattr("spark.reconcile.read_horizon", read_greatest)
    assert not is_late_row_found(judge, root)


def is_late_row_found(judge: Run, root: Path) -> bool:
    """Write an event that nothing explains, reconcile, commit; return whether it is found then."""
    [message_id] = orders(1)
    until_handled()
    payload = json.dumps({"message_id": f"{message_id}-late"})
    with connect("fulfillment", "postgres") as admin:
        admin.execute("set idle_in_transaction_session_timeout = 0")
        admin.autocommit = False
        admin.execute(
            "insert into outbox"
            " (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)"
            " values (gen_random_uuid(), 'fulfillment', %s, 'order-fulfilled', '-', %s)",
            [message_id, payload],
        )
        orders(3)
        until_handled()
        first = judge()
        admin.commit()
    wanted = ("extra", f"{message_id}-late")
    assert wanted not in found_in(root, first)
    return wanted in found_in(root, judge())


@pytest.mark.prove
def test_what_was_late_is_judged_later(stack: Stack, judge: Run) -> None:
    """Under load each run leaves some ids open; the runs after it judge every one, and no alarm."""
    until_handled()
    before = tracked(all_matched(judge(full=True)))
    with load(bursts=300, pause=0.1):
        results = [all_matched(judge()) for _ in range(4)]
    until_handled()
    results.append(all_matched(judge()))
    late = [sum(row["late"] for row in result["hops"]) for result in results]
    assert sum(late[:-1]) > 0, "nothing was late: this proved nothing"
    assert late[-1] == 0
    judged = sum(tracked(result) for result in results)
    assert before + judged >= tracked(all_matched(judge(full=True)))


@pytest.mark.prove
def test_a_run_that_is_killed_changes_nothing(
    stack: Stack, judge: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends before its horizon is written: the next one starts from the one before it."""
    orders(5)
    until_handled()
    first = all_matched(judge())
    orders(5)
    until_handled()

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("spark.seal.write_horizon", die)
        with pytest.raises(KeyboardInterrupt):
            judge()

    result = all_matched(judge())
    assert result["since"]["run_id"] == first["run_id"]
    assert tracked(result) == 5


@pytest.mark.prove
def test_a_lost_horizon_is_made_again(stack: Stack, judge: Run, root: Path) -> None:
    """Without it, everything is judged, and the run after that starts from there."""
    orders(5)
    until_handled()
    all_matched(judge())
    shutil.rmtree(root / "reconcile" / "horizon")
    everything = all_matched(judge())
    assert everything["since"] is None
    assert all_matched(judge())["since"]["run_id"] == everything["run_id"]


@pytest.mark.prove
def test_a_lake_that_is_compacted_has_not_changed(
    stack: Stack, judge: Run, spark: SparkSession, root: Path
) -> None:
    """Files that are only written again bring nothing to judge."""
    orders(5)
    until_handled()
    all_matched(judge())
    orders(5)
    until_handled()
    all_matched(judge())
    DeltaTable(root / "landed" / INPUT_TOPIC).optimize.compact()
    assert tracked(all_matched(judge())) == 0


@pytest.mark.prove
def test_nothing_is_checked_on_another_ground(
    stack: Stack, judge: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restored database there is no verdict until everything is judged."""

    def write_later(spark: SparkSession, delta_root: str, subscriber: str, one: Horizon) -> None:
        moment = one.moments["fulfillment"]._replace(timeline=9)
        moments = {**one.moments, "fulfillment": moment}
        write_horizon(spark, delta_root, subscriber, one._replace(moments=moments))

    with monkeypatch.context() as patched:
        patched.setattr("spark.seal.write_horizon", write_later)
        judge()
    with pytest.raises(NotCheckedError, match="database fulfillment has failed over"):
        judge()
    assert judge(full=True)["since"] is None
    assert judge()["since"]
