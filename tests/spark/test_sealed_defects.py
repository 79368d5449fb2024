"""What goes wrong after a run is found by the next one, whether it was judged before or not."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark.sql import SparkSession

from contract.names import DATABASE, INPUT_TOPIC
from ops.stack.stack import Stack
from spark.judging.horizon import Horizon, next_transaction, read_horizon
from tests.client import connect, fresh, query, until, until_handled
from tests.e2e.test_reconcile import defects_in, event_of, publish
from tests.load import orders
from tests.stacks import JudgeSince

RUNS = (1, 2) if os.environ.get("PROVE") else (1,)  # after which a defect must still be named


def found_in(delta_root: Path, result: dict[str, Any]) -> set[tuple[str, str]]:
    """Outcome and id of every defect of a run."""
    return {(outcome, id_) for _, outcome, id_ in defects_in(delta_root, result)}


def test_defects_on_both_sides_of_the_horizon_are_found(
    alone: Stack, judge_since: JudgeSince, delta_root: Path
) -> None:
    """What goes wrong later is named by the next run, and by each one until it is repaired.

    Of new ids, and of those that were sealed: a second event and a second audit entry, an altered
    event, a landed row that is doubled or removed. What was changed in place is named by a run that
    judges everything.
    """
    names = ["second event", "audited twice", "altered", "total", "doubled", "removed"]
    ids = dict(zip(names, orders(len(names)), strict=True))
    until_handled()
    judge_since(full=True)

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
    table = DeltaTable(delta_root / "landed" / INPUT_TOPIC)
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
    for runs in RUNS:
        result = judge_since()
        assert result["since"]["runs"] == runs
        found = found_in(delta_root, result)
        assert expected <= found
    assert ("different", ids["total"]) not in found
    expected.add(("different", ids["total"]))
    assert expected <= found_in(delta_root, judge_since(full=True))


ROUNDS = 2  # within which all that is old is confirmed


def change_in_place(columns: str, table: str, message_id: str) -> None:
    """Change a row, or delete it, as nobody should: no new transaction is noted in it."""
    statement = f"update {table} set {columns}" if columns else f"delete from {table}"
    with connect(DATABASE, "postgres") as admin:
        done = admin.execute(f"{statement} where message_id = %s".encode(), [message_id])
        assert done.rowcount == 1


@pytest.mark.prove
@pytest.mark.parametrize(
    "change",
    [
        ("total = total + 0.01", "fulfillment", "different"),
        ("", "fulfillment", "missing"),
        ("", "tracking", "missing"),
        ("value_sha256 = sha256('another')", "tracking", "different"),
    ],
)
def test_what_is_changed_in_place_is_found_by_the_rotation(
    alone: Stack,
    judge_since: JudgeSince,
    delta_root: Path,
    change: tuple[str, str, str],
) -> None:
    """One old row is changed or deleted: one of so many runs judges everything, and names the id.

    The runs before and after confirm the rest, and judge only what is new.
    """
    columns, table, outcome = change
    rotate = partial(judge_since, reconcile_all_every=ROUNDS)
    for _ in range(ROUNDS):
        [changed] = orders(1)
        until_handled()
    names = {changed, position_of(changed)}
    rotate(full=True)
    change_in_place(columns, table, changed)

    results: list[dict[str, Any]] = []
    while not (results and results[-1]["since"] is None):
        assert len(results) < ROUNDS, "it is not found by the rotation"
        results.append(rotate())

    named = {id_ for outcome_, id_ in found_in(delta_root, results[-1]) if outcome_ == outcome}
    assert named & names
    assert all(result["since"] for result in results[:-1])


@pytest.mark.prove
def test_control_without_the_rotation_only_a_full_run_finds_it(
    alone: Stack, judge_since: JudgeSince, delta_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: if no share is ever due, twice as many runs do not find it; one of all does."""
    [changed] = orders(1)
    until_handled()
    rotate = partial(judge_since, reconcile_all_every=ROUNDS)
    rotate(full=True)
    change_in_place("total = total + 0.01", "fulfillment", changed)
    with monkeypatch.context() as patched:
        patched.setattr("spark.judging.since.find_due", lambda *_: [])
        for _ in range(2 * ROUNDS):
            result = rotate()
            assert result["since"]
            assert ("different", changed) not in found_in(delta_root, result)
    assert ("different", changed) in found_in(delta_root, rotate(full=True))


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


@pytest.mark.prove
def test_a_transaction_that_commits_late_is_not_missed(
    alone: Stack, judge_since: JudgeSince, delta_root: Path
) -> None:
    """A row that was written before a run and committed after it is read by the next one."""
    assert is_late_row_found(judge_since, delta_root)


@pytest.mark.prove
def test_control_a_horizon_of_one_number_misses_a_late_commit(
    alone: Stack, judge_since: JudgeSince, delta_root: Path, monkeypatch: pytest.MonkeyPatch
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
    assert not is_late_row_found(judge_since, delta_root)


PATIENCE_SECONDS = 5  # with a slot that has not advanced, or a transaction that holds back


def age_of(pid: int) -> float:
    """Return for how many seconds the transaction of a connection has been open."""
    age = "select extract(epoch from clock_timestamp() - xact_start) from pg_stat_activity"
    [(seconds,)] = query(f"{age} where pid = %s", pid)
    return float(seconds)


def is_late_row_found(judge_since: JudgeSince, delta_root: Path) -> bool:
    """Write an event that nothing explains, reconcile, commit; return whether it is found then."""
    [message_id] = orders(1)
    until_handled()
    payload = json.dumps({"message_id": f"{message_id}-late"})
    with connect("fulfillment", "postgres") as admin:
        admin.execute("set idle_in_transaction_session_timeout = 0")
        admin.execute("set application_name = 'a long one'")
        admin.autocommit = False
        pid = admin.info.backend_pid
        admin.execute(
            "insert into outbox"
            " (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)"
            " values (gen_random_uuid(), 'fulfillment', %s, 'order-fulfilled', '-', %s)",
            [message_id, payload],
        )
        orders(3)
        until_handled()
        until(lambda: age_of(pid), lambda age: age > 2 * PATIENCE_SECONDS, 60, "it is too young")
        first = judge_since(reconcile_behind_seconds=PATIENCE_SECONDS)
        admin.commit()
    [holder] = [one for one in first["held_by"] if one["pid"] == pid]
    assert holder["application"] == "a long one"
    assert holder["database"] == DATABASE
    wanted = ("extra", f"{message_id}-late")
    assert wanted not in found_in(delta_root, first)
    then = judge_since()
    assert then["since"]["run_id"] == first["run_id"]
    return wanted in found_in(delta_root, then)
