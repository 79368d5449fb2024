"""`pipeline repair`: planted defects are repaired while orders keep coming, and judged again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from psycopg.errors import InsufficientPrivilege
from pyspark.sql import SparkSession

from contract.names import INPUT_TOPIC, SUBSCRIBER
from ops.stack.stack import Stack
from spark.hops import OUTBOX_TO, TOPICS_TO_LANDED, TRACKING_TO_DECISION, input_to_tracking
from spark.lake.losses import parse_loss, read_accepted
from spark.landing.landing_query import accept_losses, start_landing
from spark.parts import load_parts
from spark.repair import Step, do, latest_run, read_findings
from spark.repairing.acts import Act, Finding
from spark.settings import Settings
from spark.topics import topics_to_land
from tests.builders import value
from tests.client import (
    Sent,
    away,
    connect,
    events,
    exactly_one,
    fresh,
    query,
    send,
    until_handled,
)
from tests.load import load, orders
from tests.reconciliation import Reconcile
from tests.spark.topics import Topics, rows_of

TOPIC = "fulfillment.events"
TO_TRACKING = input_to_tracking(INPUT_TOPIC)

Result = dict[str, Any]
Place = tuple[int, int]  # partition and offset


class Planted(NamedTuple):
    """What was spoiled, by the ids that reconciliation should name."""

    defects: dict[str, tuple[str, str]]  # id: hop and outcome
    message_ids: list[str]  # of all orders, which should be there once in the end


def pipeline(stack: Stack, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command as it is typed, against the stack of this test."""
    command = [str(Path(sys.executable).with_name("pipeline")), *words]
    env = stack.env() | {"ATTACH": "true"}
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=400, check=False
    )


def repair(stack: Stack, *words: str) -> Result:
    """Repair, and return what was said; some of it may be left."""
    done = pipeline(stack, "repair", "--json", *words)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    result: Result = json.loads(done.stdout)
    left = [act for act in result["acts"] if act["state"] != "done"]
    assert done.returncode == (1 if left or result["for_people"] else 0)
    return result


def defects(stack: Stack, result: Result) -> dict[str, set[tuple[str, str]]]:
    """Return hop and outcome of each id that a run has found wrong."""
    table = DeltaTable(f"{stack.env()['DELTA_ROOT']}/reconcile/outcome")
    rows = (
        QueryBuilder()
        .register("outcome", table)
        .execute(
            f"select id, hop, outcome from outcome where run_id = '{result['run_id']}'"
            " and outcome not in ('matched', 'late')"
        )
        .read_all()
    )
    columns = [rows.column(name).to_pylist() for name in ("id", "hop", "outcome")]
    found: dict[str, set[tuple[str, str]]] = {}
    for id_, hop, outcome in zip(*columns, strict=True):
        found.setdefault(id_, set()).add((hop, outcome))
    return found


@contextmanager
def unpublished() -> Iterator[None]:
    """Take the outbox out of its publication for the time of a block, as a careless hand would."""
    with connect("fulfillment", "postgres") as admin:
        admin.execute("alter publication outbox drop table outbox")
        try:
            yield
        finally:
            admin.execute("alter publication outbox add table outbox")


def event_ids(message_ids: Sequence[str]) -> list[str]:
    """Return the ids of the events of these messages, in their sequence."""
    found = query(
        "select event_id::text from outbox"
        " where payload->>'message_id' = any(%s) and aggregate_type = 'fulfillment' order by seq",
        list(message_ids),
    )
    return [event_id for (event_id,) in found]


def pass_over(stack: Stack, message_id: str) -> str:
    """Let the group commit past an order that no service has handled; return its position."""
    until_handled()
    with away(stack, "service"):
        [(partition, offset)] = send([Sent(message_id, message_id, value(message_id))])
        client = {"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]}
        consumer = Consumer(client | {"group.id": SUBSCRIBER, "enable.auto.commit": False})
        past = TopicPartition(INPUT_TOPIC, partition, offset + 1)
        consumer.commit(offsets=[past], asynchronous=False)
        consumer.close()
    return f"{INPUT_TOPIC}/{partition}/{offset}"


def spoil_landed(stack: Stack, spark: SparkSession, gone: Place, twice: Place) -> None:
    """Take one landed order away, and land another one twice."""
    settings = Settings()
    topics = topics_to_land(settings, load_parts()).all()
    start_landing(spark, settings, topics, once=True).awaitTermination()
    table = DeltaTable(f"{stack.env()['DELTA_ROOT']}/landed/{INPUT_TOPIC}")
    where = 'partition = {} and "offset" = {}'
    chosen = f"select * from landed where {where.format(*twice)}"
    row = QueryBuilder().register("landed", table).execute(chosen).read_all()
    write_deltalake(table, row, mode="append")
    table.delete(where.format(*gone))


def count_landed(stack: Stack, position: str) -> int:
    """Return how many landed rows there are of a position."""
    topic, partition, offset = position.split("/")
    table = DeltaTable(f"{stack.env()['DELTA_ROOT']}/landed/{topic}")
    chosen = f'select key from landed where partition = {partition} and "offset" = {offset}'
    rows = QueryBuilder().register("landed", table).execute(chosen).read_all()
    return len(rows.column("key").to_pylist())


def plant(stack: Stack, spark: SparkSession) -> Planted:
    """Spoil something at each hop that has an act: eight ids."""
    with unpublished():
        skipped = orders(3)
        until_handled()
    unaudited, unmarked, *_ = message_ids = [fresh("spoiled") for _ in range(4)]
    places = send([Sent(name, name, value(name)) for name in message_ids])
    until_handled()
    with connect("audit", "postgres") as admin:
        admin.execute("delete from audit_entry where message_id = %s", [unaudited])
    with connect("fulfillment", "postgres") as admin:
        admin.execute("update tracking set audited_at = null where message_id = %s", [unmarked])
    passed_over = fresh("passed-over")
    position = pass_over(stack, passed_over)
    spoil_landed(stack, spark, places[2], places[3])
    [at_gone, at_twice] = (f"{INPUT_TOPIC}/{place[0]}/{place[1]}" for place in places[2:])
    found = dict.fromkeys(event_ids(skipped), (f"{OUTBOX_TO}{TOPIC}", "missing"))
    found |= {
        unaudited: ("tracking → audit entry", "missing"),
        unmarked: ("tracking → audit mark", "missing"),
        at_gone: (TOPICS_TO_LANDED, "missing"),
        at_twice: (TOPICS_TO_LANDED, "duplicate"),
        position: (TO_TRACKING, "missing"),
    }
    return Planted(found, [*skipped, *message_ids, passed_over])


def is_found(planted: Planted, found: dict[str, set[tuple[str, str]]]) -> set[str]:
    """Return the planted ids that a run has found as what they are."""
    return {id_ for id_, defect in planted.defects.items() if defect in found.get(id_, set())}


@pytest.mark.prove
def test_planted_defects_are_repaired_while_orders_come(
    spoiled: Stack, spark: SparkSession, reconcile: Reconcile
) -> None:
    """Each kind of defect that has an act is repaired, and the next run finds it matched.

    Without --apply everything is proposed and nothing is done: the control is the second run,
    which finds the same. What takes a person is said with the rows of both sides.
    """
    planted = plant(spoiled, spark)
    [unfulfilled] = orders(1)
    until_handled()
    with connect("fulfillment", "postgres") as admin:
        admin.execute("delete from fulfillment where message_id = %s", [unfulfilled])
    wanted = set(planted.defects)
    found = defects(spoiled, reconcile())
    assert is_found(planted, found) == wanted

    proposed = repair(spoiled)
    assert {act["id"]: act["state"] for act in proposed["acts"] if act["id"] in wanted} == (
        dict.fromkeys(wanted, "proposed")
    )
    assert is_found(planted, defects(spoiled, reconcile())) == wanted

    with load(bursts=2_000, pause=0.1) as sent:
        done = repair(spoiled, "--apply", "--by", "first-hand")
        again = repair(spoiled, "--apply", "--by", "second-hand")
        result = reconcile()
    assert {act["id"] for act in done["acts"] if act["state"] == "done"} >= wanted
    assert [act for act in done["acts"] if act["problem"]] == []
    assert again["acts"] == done["acts"]

    found = defects(spoiled, result)
    assert {id_: found[id_] for id_ in wanted & found.keys()} == {}
    assert result["failed_repairs"] == []
    assert (TRACKING_TO_DECISION, "missing") in found[unfulfilled]
    [left] = [one for one in done["for_people"] if one["id"] == unfulfilled]
    assert {(row["side"], row["of"]) for row in left["rows"]} == {
        ("in", "tracking"),
        ("reference", "outbox"),
    }
    until_handled()
    exactly_one(planted.message_ids)
    exactly_one(sent)
    acts = query(
        "select id, act, outcome, planned_by from repair where run_id = %s and id = any(%s)",
        done["run_id"],
        list(wanted),
    )
    assert {id_ for id_, *_ in acts} == wanted
    assert {who for *_, who in acts} == {"first-hand"}


KILLED = """
import os, signal, sys
from pathlib import Path
from spark import repair
from spark.repairing import landed_repairs, repair_log, sent_again

reached = Path(sys.argv.pop(1))


def kill_once(name):
    names = reached.read_text().split() if reached.exists() else []
    if name not in names:
        reached.write_text(" ".join([*names, name]))
        os.killpg(0, signal.SIGKILL)


def dying_after(room, name, label):
    true = getattr(room, name)

    def then_die(*given):
        done = true(*given)
        kill_once(label(given))
        return done

    setattr(room, name, then_die)


dying_after(repair_log.RepairLog, "plan", lambda given: "planned")
dying_after(repair, "do", lambda given: f"done-{given[2].act.name}")
dying_after(landed_repairs, "append_once", lambda given: "appended")
dying_after(landed_repairs, "replace_rows", lambda given: "replaced")
dying_after(sent_again, "send_record", lambda given: "produced")
repair.main()
"""
MOMENTS = {"planned", "appended", "replaced", "produced", *(f"done-{act.name}" for act in Act)}


@pytest.mark.prove
def test_a_repair_that_is_killed_anywhere_is_done_by_the_next(
    spoiled: Stack, spark: SparkSession, reconcile: Reconcile, tmp_path: Path
) -> None:
    """Killed once at each step, and run again each time: all is repaired, nothing doubled."""
    planted = plant(spoiled, spark)
    assert is_found(planted, defects(spoiled, reconcile())) == set(planted.defects)
    reached = tmp_path / "reached"
    for _ in range(len(MOMENTS)):
        died = subprocess.run(
            [sys.executable, "-c", KILLED, str(reached), "--apply", "--json"],
            env=spoiled.env(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            start_new_session=True,
        )
        assert died.returncode == -9, died.stdout + died.stderr
    assert set(reached.read_text().split()) == MOMENTS
    done = repair(spoiled, "--apply")
    assert {act["id"] for act in done["acts"] if act["state"] == "done"} >= set(planted.defects)

    result = reconcile()
    found = defects(spoiled, result)
    assert {id_: found[id_] for id_ in planted.defects.keys() & found.keys()} == {}
    assert result["failed_repairs"] == []
    until_handled()
    exactly_one(planted.message_ids)
    for position, (hop, _) in planted.defects.items():
        if hop == TOPICS_TO_LANDED:
            assert count_landed(spoiled, position) == 1


# A repair that does not look whether what it sends is published: as if the publication were changed
# between its look and its act.
LOOKED_TOO_EARLY = """
from spark import repair
from spark.repairing import sent_again

sent_again.will_be_published = lambda *_: True
repair.main()
"""


@pytest.mark.prove
def test_a_repair_that_did_not_help_is_reported(spoiled: Stack, reconcile: Reconcile) -> None:
    """Events that were sent again while nobody published them are missing, and the run says so.

    Repair itself refuses to send them, as long as it sees that. Once they are published the next
    repair helps, and no run speaks of the first any more.
    """
    with unpublished():
        wanted = set(event_ids(orders_handled(2)))
        reconcile()
        refused = repair(spoiled, "--apply", "--by", "first-hand")
        states = {act["id"]: act["state"] for act in refused["acts"]}
        assert "done" not in {states[id_] for id_ in wanted}
        sent = subprocess.run(
            [sys.executable, "-c", LOOKED_TOO_EARLY, "--apply", "--by", "first-hand", "--json"],
            env=spoiled.env(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert sent.returncode in (0, 1), sent.stderr
        told = reconcile()
    failed = [row for row in told["failed_repairs"] if row["id"] in wanted]
    assert {row["id"] for row in failed} == wanted
    assert {(row["who"], row["outcome"]) for row in failed} == {("first-hand", "missing")}
    assert "Repairs that have failed" in Path(told["report"]).read_text()

    repair(spoiled, "--apply")
    result = reconcile()
    assert wanted & defects(spoiled, result).keys() == set()
    assert [row for row in result["failed_repairs"] if row["id"] in wanted] == []
    assert len(events(TOPIC, lambda event: event.headers["id"].decode() in wanted)) == 2


def orders_handled(count: int) -> list[str]:
    """Return the message ids of this many orders, once the service has handled them."""
    message_ids = orders(count)
    until_handled()
    return message_ids


def test_without_findings_there_is_nothing_to_repair(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The latest run that compared anything is meant, and it may have found nothing.

    Before the first run there is a sentence, exit code 2.
    """
    settings = Settings(delta_root=str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        latest_run(spark, settings)
    assert ended.value.code == 2
    assert "run pipeline reconcile first" in capsys.readouterr().err

    runs = [("1", "[{}]"), ("2", "[{}]"), ("3", "[]")]  # the last one has compared nothing
    frame = spark.createDataFrame(runs, "run_id string, hops string")
    frame.write.format("delta").save(f"{tmp_path}/reconcile/run")
    assert latest_run(spark, settings) == "2"
    assert read_findings(spark, settings, "2") == []
    with pytest.raises(SystemExit):
        read_findings(spark, settings, "4")
    assert "there is no run 4" in capsys.readouterr().err


class Lake(NamedTuple):
    """Two topics of a test's own, twenty records of the first landed."""

    spark: SparkSession
    topics: Topics
    root: Path

    @property
    def settings(self) -> Settings:
        """Return the settings of its landing."""
        return self.topics.settings(self.root)

    @property
    def name(self) -> str:
        """Return the topic with the records."""
        return self.topics.names[0]

    @property
    def table(self) -> DeltaTable:
        """Return what has landed, as it is now."""
        return DeltaTable(self.root / "landed" / self.name)

    def land(self) -> None:
        """Land what is there."""
        query = start_landing(self.spark, self.settings, self.topics.names, once=True)
        query.awaitTermination()

    def add(self, where: str, **changed: bytes) -> None:
        """Land some rows once more, with other values if need be."""
        columns = 'topic, partition, "offset", timestamp, key, value, headers'
        for name, content in changed.items():
            text = f"arrow_cast('{content.decode()}', 'Binary') as {name}"
            columns = columns.replace(name, text)
        chosen = f"select {columns} from landed where {where}"
        rows = QueryBuilder().register("landed", self.table).execute(chosen).read_all()
        write_deltalake(self.table, rows, mode="append")

    def repair(self, act: Act, *positions: str, run_id: str = "run") -> dict[str, str]:
        """Do an act for these positions."""
        findings = [Finding(TOPICS_TO_LANDED, position, "", "") for position in positions]
        return do(self.spark, self.settings, Step(act, findings, run_id, deadline=0))

    def rows(self) -> list[dict[str, Any]]:
        """Return every row, in the sequence of offsets."""
        return rows_of(self.root, self.name)


@pytest.fixture
def lake(spoiled: Stack, spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A lake with a landing that goes on."""
    topics = Topics.make(spoiled.env()["KAFKA_BOOTSTRAP_SERVERS"])
    made = Lake(spark, topics, tmp_path)
    topics.send(made.name, 20)
    made.land()
    yield made
    topics.remove()


@pytest.mark.prove
def test_missing_rows_are_landed_once(lake: Lake) -> None:
    """What Kafka still has is landed as it was, once, however often repair is run.

    Control: rows beside them, and those that the landing has not come to, are left alone.
    """
    before = lake.rows()
    lake.table.delete('"offset" in (2, 5)')
    wanted = [f"{lake.name}/{partition}/{offset}" for partition in (0, 1) for offset in (2, 5)]
    assert lake.repair(Act.LAND, *wanted, f"{lake.name}/0/4") == {}
    assert lake.rows() == before
    assert lake.repair(Act.LAND, *wanted) == {}
    assert lake.repair(Act.LAND, *wanted, run_id="another run") == {}
    assert lake.rows() == before

    lake.topics.send(lake.name, 2)
    not_yet = f"{lake.name}/0/10"
    said = lake.repair(Act.LAND, not_yet, run_id="third run")
    assert said == {not_yet: "the landing has not come to it yet: run pipeline land"}
    lake.land()
    assert len(lake.rows()) == 22


@pytest.mark.prove
def test_what_kafka_has_deleted_is_named_with_the_way_out(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a row cannot be landed; the loss that the sentence names can be accepted.

    Control: one that has landed cannot.
    """
    lake.table.delete('"offset" = 2 and partition = 1')
    lake.topics.forget(lake.name, below=6)
    gone = f"{lake.name}/1/2"
    loss = f"{lake.name}/1:2-2"
    said = lake.repair(Act.LAND, gone)
    assert said == {gone: f"Kafka has deleted it: pipeline land --accept-loss {loss}"}

    with pytest.raises(SystemExit):
        accept_losses(
            lake.spark, lake.settings, lake.topics.names, [parse_loss(f"{lake.name}/1:2-3")]
        )
    assert "is not lost" in capsys.readouterr().err
    accept_losses(lake.spark, lake.settings, lake.topics.names, [parse_loss(loss)])
    accepted = read_accepted(lake.spark, str(lake.root))
    assert [str(one.loss) for one in accepted] == [loss]


@pytest.mark.prove
def test_one_of_two_equal_rows_is_removed(lake: Lake) -> None:
    """Rows that landed twice or three times are there once, in one commit, and no other is touched.

    Control: two rows of one offset with other bytes are both kept, and named.
    """
    before = lake.rows()
    lake.add('"offset" = 3 and partition = 0')
    lake.add('"offset" in (3, 4) and partition = 0')
    lake.add('"offset" = 7 and partition = 0', value=b"other")
    version = lake.table.version()
    wanted = [f"{lake.name}/0/{offset}" for offset in (3, 4, 7)]
    said = lake.repair(Act.REMOVE, *wanted)
    assert said == {wanted[-1]: "its rows are not the same"}
    assert lake.table.version() == version + 1
    left = [row for row in lake.rows() if row["value"] != b"other"]
    assert left == before
    assert len(lake.rows()) == len(before) + 1
    assert lake.repair(Act.REMOVE, *wanted[:2]) == {}
    assert lake.table.version() == version + 1


@pytest.mark.parametrize(
    "statement",
    [
        "delete from repair",
        "update repair set act = ''",
        "delete from audit_failure",
        "update audit_failure set reason = ''",
        "update tracking set audited_at = null",
        "select value_sha256 from tracking",
    ],
)
def test_the_role_that_repairs_may_do_nothing_else(spoiled: Stack, statement: str) -> None:
    """`resender` adds acts and puts entries aside; it takes nothing away and marks no message."""
    with connect(role="resender") as session, pytest.raises(InsufficientPrivilege):
        session.execute(statement.encode())


@pytest.mark.parametrize("role", ["app", "reconciler", "purger"])
def test_no_other_role_writes_acts(spoiled: Stack, role: str) -> None:
    """Whoever only reads, or only handles messages, cannot claim a repair."""
    with connect(role=role) as session, pytest.raises(InsufficientPrivilege):
        session.execute("insert into repair values ('run', 'hop', 'id', 'missing', 'act', 'me')")
