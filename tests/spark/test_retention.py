"""What retention deletes was published, has landed and is matched; nothing else goes, ever."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from contract.events import EVENTS
from contract.names import (
    AUDIT_DATABASE,
    AUDIT_TOPIC,
    DATABASE,
    DEAD_LETTER_TOPIC,
    INPUT_TOPIC,
    SUBSCRIBER,
)
from ops.letters.acts import Act, choose, skip
from ops.letters.command import Filter
from ops.stack.stack import Stack
from ops.trace.lake import read_last_runs
from spark import retention
from spark.event_tables import rebuild_table
from spark.hops import (
    FORGOTTEN_TO_LANDED,
    NOTED,
    RETIRED_ENTRY_TO_LANDED,
    RETIRED_LETTER_TO_LANDED,
    RETIRED_TO_DECISION,
    RETIRED_TO_LANDED,
    TRACKING_TO_OUTBOX,
)
from spark.judging.settled import Options
from spark.parts import load_parts
from spark.retiring import confirmed, old_landed, purge
from spark.settings import Settings
from tests.builders import value
from tests.client import Sent, connect, ends, fresh, query, send, until_handled
from tests.e2e.test_reconcile import defects_in, event_of, publish
from tests.load import orders
from tests.reconciliation import all_matched, hop
from tests.stacks import PORTS, RUN, JudgeSince, running, within

Result = dict[str, Any]
Retain = Callable[..., Result]

FULFILLMENTS = "fulfillment.events"
COUNT = "select count(*) from outbox where event_type = any(%s)"


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack of one test alone: no other lake has what it deletes from Kafka."""
    with running(f"{RUN}-retention", PORTS + 200) as stack:
        yield within(stack, monkeypatch)


@pytest.fixture
def retain(spark: SparkSession, delta_root: Path) -> Retain:
    """Say what is older than so many days, or delete it."""

    def run_once(
        days: float = 0, *, landed: float = 400, apply: bool = True, **changes: Any
    ) -> Result:
        settings = Settings(
            delta_root=str(delta_root),
            reconcile_all_orders=0,
            retention_tracking_days=days,
            retention_outbox_days=days,
            retention_audit_days=days,
            retention_letters_days=days,
            retention_landed_days=landed,
            **changes,
        )
        options = Options(land=True, ledger=None, deadline=time.monotonic() + 120)
        parts = [part._replace(hops=()) for part in load_parts()]
        result = retention.retain(spark, settings, parts, options, apply=apply)
        spark.catalog.clearCache()
        return result

    return run_once


def events_left() -> dict[str, int]:
    """How many events each outbox holds."""
    left = {}
    for database, types in purge.TYPES.items():
        [(count,)] = query(COUNT, types, database=database, role="reconciler")
        left[database] = int(count)
    return left


def deleted(result: Result) -> dict[str, int]:
    """How much of each thing went."""
    return {one["what"]: one["deleted"] for one in result["ages"]}


def would_go(result: Result) -> dict[str, int]:
    """How much of each outbox is old enough."""
    outboxes = {outbox_of(database): database for database in purge.TYPES}
    return {outboxes[one["what"]]: one["rows"] for one in result["ages"] if one["what"] in outboxes}


def outbox_of(database: str) -> str:
    """What a line calls the outbox of a database."""
    return f"outbox of {database}"


def count_of(table: str, database: str = DATABASE) -> int:
    """How many rows a table has."""
    [(count,)] = query(f"select count(*) from {table}", database=database, role="reconciler")
    return int(count)


def every_outcome() -> list[str]:
    """Handle orders with every outcome: accepted, repeated, rejected, and one dead letter."""
    accepted = orders(10)
    until_handled()
    again = Sent(accepted[0], accepted[0], value(accepted[0]))
    second = Sent(fresh("second"), accepted[1], value(accepted[1]))
    poison = Sent(fresh("poison"), "no order", b"{")
    send([again, second, poison])
    until_handled()
    return accepted


def close_letters() -> None:
    """Skip every dead letter that is open."""
    left = choose(os.environ, Filter(), [], again=True)
    skip(os.environ, left, Act("a test", "nobody needs it"))


def test_what_is_old_is_deleted_and_reconciles_as_before(
    own: Stack, judge_since: JudgeSince, retain: Retain, delta_root: Path
) -> None:
    """Outboxes and audit entries are emptied, and every count of a reconciliation is as it was.

    Kafka has no events of the entries any more: they are that old. Dead letters may be read again,
    and stay. The lake knows that it ran.
    """
    every_outcome()
    close_letters()
    before = all_matched(judge_since(full=True))
    everything = events_left()
    entries = count_of("audit_entry", AUDIT_DATABASE)
    delete_from_kafka(AUDIT_TOPIC)

    result = retain()

    done = deleted(result)
    assert done[outbox_of(DATABASE)] == everything[DATABASE]
    assert done[outbox_of(AUDIT_DATABASE)] == everything[AUDIT_DATABASE]
    assert done["audit entries"] == entries
    assert count_of("audit_entry", AUDIT_DATABASE) == 0
    assert line_of(result, "dead letters")["stays"].startswith("1 stay: may be read again")
    assert events_left() == {DATABASE: 0, AUDIT_DATABASE: 0}
    runs = read_last_runs(str(delta_root))
    assert runs is not None
    assert runs.last_retention == runs.last_good

    after = all_matched(judge_since(full=True))
    topics = {*(event.topic for event in EVENTS), DEAD_LETTER_TOPIC, AUDIT_TOPIC}
    assert hop(after, RETIRED_TO_LANDED)["matched"] == len(topics)
    assert hop(after, RETIRED_ENTRY_TO_LANDED)["matched"] > 0
    others = [row for row in after["hops"] if row["hop"] not in NOTED]
    assert others == before["hops"]


def delete_from_kafka(topic: str) -> None:
    """Let Kafka delete all that a topic has, as it does by itself one day."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    wanted = [TopicPartition(topic, partition, end) for partition, end in ends(topic).items()]
    for deleted_below in admin.delete_records(wanted).values():
        deleted_below.result(30)


def line_of(result: Result, what: str) -> Result:
    """What was said of one thing."""
    [line] = [one for one in result["ages"] if one["what"] == what]
    return dict(line)


def note_old_stretches() -> None:
    """Note a stretch that ends before the first offset: whatever goes, all of it is gone."""
    with connect(DATABASE, "postgres") as admin:
        admin.execute(
            "insert into forgotten_offsets values (%s, %s, 0, -1, '{}')", [SUBSCRIBER, INPUT_TOPIC]
        )
    with connect(AUDIT_DATABASE, "postgres") as admin:
        admin.execute("insert into retired_offsets values (%s, 0, -1, '{}')", [AUDIT_TOPIC])


def count_old_stretches() -> int:
    """How many of these are left."""
    counts = [
        query("select count(*) from forgotten_offsets where stretch < 0", database=DATABASE),
        query("select count(*) from retired_offsets where stretch < 0", database=AUDIT_DATABASE),
    ]
    return sum(count for [(count,)] in counts)


@pytest.mark.prove
def test_everything_goes_when_nothing_refers_to_it(
    own: Stack, judge_since: JudgeSince, retain: Retain, spark: SparkSession, delta_root: Path
) -> None:
    """As long as Kafka has a record, its tracking row stays, and with that all that has landed.

    The control: with the records gone, the same command deletes both, and all reconciles as before.
    So do the offsets by which they were known. A dead letter stays until it is closed. A
    fulfillment that somebody deletes then is found all the same.
    """
    note_old_stretches()
    old = every_outcome()
    tracked = count_of("tracking")
    held = retain(landed=0)
    assert line_of(held, outbox_of(DATABASE))["stays"] == "1 stay: their dead letters are open"
    assert line_of(held, "dead letters")["stays"] == "1 stay: open"
    assert line_of(held, "landed records")["rows"] == 0
    assert count_old_stretches() == 2
    assert line_of(held, "tracking") == {
        "what": "tracking",
        "days": 0,
        "rows": 0,
        "oldest": None,
        "stays": f"{tracked} stay: may be read again, Kafka still has it",
        "deleted": 0,
    }
    assert count_of("tracking") == tracked

    delete_from_kafka(INPUT_TOPIC)
    [young] = orders(1)
    until_handled()
    done = retain(landed=0)
    assert line_of(done, "tracking")["deleted"] == tracked
    assert query("select message_id from tracking") == [(young,)]
    assert line_of(done, "landed records")["deleted"] > tracked
    assert landed_of(spark, delta_root, INPUT_TOPIC) == 1
    assert landed_of(spark, delta_root, FULFILLMENTS) == 1
    assert count_old_stretches() == 0
    assert (count_of("dead_letter"), events_left()[DATABASE]) == (1, 1)
    close_letters()
    assert line_of(retain(landed=0), "dead letters")["deleted"] == 1
    assert (count_of("dead_letter"), events_left()[DATABASE]) == (0, 0)
    assert count_of("dead_letter_act") == 1

    assert all_matched(judge_since())["since"], "what is forgotten was judged with everything"
    last = all_matched(judge_since(full=True))
    assert hop(last, FORGOTTEN_TO_LANDED)["matched"] > 0
    assert hop(last, RETIRED_TO_DECISION)["matched"] == 1
    assert hop(last, RETIRED_LETTER_TO_LANDED)["matched"] == 1
    assert hop(last, TRACKING_TO_OUTBOX)["in"] == 1
    assert any(place.startswith(f"{INPUT_TOPIC}/") for place in last["retired"])

    with connect(DATABASE, "postgres") as admin:
        admin.execute("delete from fulfillment where message_id = %s", [old[4]])
    found = judge_since(full=True)["findings"]
    assert {(row["hop"], row["outcome"]) for row in found} == {(RETIRED_TO_DECISION, "different")}


@pytest.mark.prove
def test_what_is_killed_or_comes_again_after_all_is_retired_is_none_too_many(
    own: Stack,
    judge_since: JudgeSince,
    retain: Retain,
    *,
    spark: SparkSession,
    delta_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed between note and deletion, all reconciles, and the next run deletes.

    Until landed records go, tracking rows are made again of them: one more that is gone is missing.
    A message that comes again after that has one effect, and the event table keeps every event.
    """
    old = every_outcome()
    before = all_matched(judge_since(full=True))
    tracked = count_of("tracking")
    delete_from_kafka(INPUT_TOPIC)
    [young] = orders(1)
    until_handled()
    shown = line_of(retain(apply=False), "tracking")
    assert (shown["rows"], shown["deleted"]) == (tracked, 0)
    assert shown["stays"].startswith("1 stay: may be read again")
    assert line_of(retain(), "tracking")["deleted"] == tracked
    after = all_matched(judge_since(full=True))
    assert hop(after, TRACKING_TO_OUTBOX)["in"] == hop(before, TRACKING_TO_OUTBOX)["in"] + 1

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(old_landed, "delete_retired", die)
        with pytest.raises(KeyboardInterrupt):
            retain(landed=0)
    noted = all_matched(judge_since(full=True))
    assert landed_of(spark, delta_root, INPUT_TOPIC) > 1
    assert retain(landed=0)["ok"]
    assert landed_of(spark, delta_root, INPUT_TOPIC) == 1
    assert all_matched(judge_since(full=True))["hops"] == noted["hops"]
    [event] = [one for one in EVENTS if one.topic == FULFILLMENTS]
    table = rebuild_table(spark, str(delta_root), event)
    assert table.count() == len(old) + 1  # what is retired is in no landed table

    send([Sent(old[3], old[3], value(old[3]))])
    until_handled()
    assert hop(all_matched(judge_since()), TRACKING_TO_OUTBOX)["in"] <= 1
    assert hop(all_matched(judge_since(full=True)), TRACKING_TO_OUTBOX)["in"] == 1

    with connect(DATABASE, "postgres") as admin:
        admin.execute("delete from tracking where message_id = %s", [young])
    found = judge_since(full=True)["findings"]
    assert {row["id"] for row in found if row["hop"] == TRACKING_TO_OUTBOX} == {young}


def landed_of(spark: SparkSession, delta_root: Path, topic: str) -> int:
    """How many rows a topic has in the lake."""
    return spark.read.format("delta").load(f"{delta_root}/landed/{topic}").count()


@pytest.mark.prove
def test_what_comes_after_a_retention_is_judged_as_before(
    stack: Stack, judge_since: JudgeSince, retain: Retain
) -> None:
    """New orders, an old message that comes again, and an old event that is published again.

    The repeat is none too many, and the second copy is a duplicate removed; a later retention adds
    what is new to its note.
    """
    old = every_outcome()
    event = event_of(old[2])
    close_letters()
    all_matched(judge_since(full=True))
    retain()
    new = orders(5)
    send([Sent(old[3], old[3], value(old[3]))])
    until_handled()
    later = all_matched(judge_since())
    assert later["since"]
    assert hop(later, TRACKING_TO_OUTBOX)["in"] == len(new)
    publish(FULFILLMENTS, event)
    whole = all_matched(judge_since())
    assert whole["since"] is None  # the event may have been deleted: so everything is judged
    assert hop(whole, f"outbox → {FULFILLMENTS}")["duplicates_removed"] >= 1

    retain()
    assert events_left() == {DATABASE: 0, AUDIT_DATABASE: 0}
    last = all_matched(judge_since(full=True))
    assert hop(last, TRACKING_TO_OUTBOX)["in"] == hop(whole, TRACKING_TO_OUTBOX)["in"]


@pytest.mark.prove
def test_a_run_after_a_retention_does_not_judge_everything_again(
    own: Stack, judge_since: JudgeSince, retain: Retain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention confirms what it has noted; nor does the rotation find that something is gone.

    The control: where the note does not say what landed, the next run judges everything.
    """
    every_outcome()
    close_letters()
    runs = 2
    all_matched(judge_since(reconcile_all_every=runs))
    delete_from_kafka(INPUT_TOPIC)
    done = deleted(retain(reconcile_all_every=runs))
    kinds = ("tracking", "audit entries", "dead letters", outbox_of(DATABASE))
    assert min(done[kind] for kind in kinds) > 0
    for _ in range(runs):
        assert all_matched(judge_since(reconcile_all_every=runs))["since"]

    orders(1)
    until_handled()
    all_matched(judge_since())
    delete_from_kafka(INPUT_TOPIC)
    with monkeypatch.context() as patched:
        patched.setattr(confirmed, "read_landed_at", lambda *_: {})
        assert deleted(retain())["tracking"] == 1
    assert all_matched(judge_since())["since"] is None


@pytest.mark.prove
def test_what_is_young_stays(stack: Stack, retain: Retain) -> None:
    """Without --apply nothing goes, and with it nothing that is younger than the setting says."""
    orders(3)
    until_handled()
    close_letters()
    everything = events_left()
    shown = retain(apply=False)
    assert would_go(shown) == everything
    young = retain(days=1)
    assert set(deleted(young).values()) == {0}
    assert events_left() == everything


@pytest.mark.prove
def test_a_retention_that_is_killed_has_noted_what_it_deleted(
    stack: Stack, judge_since: JudgeSince, retain: Retain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two batches, it leaves a good verdict, and the next one goes on."""
    orders(10)
    until_handled()
    close_letters()
    all_matched(judge_since())

    def die(line: str) -> None:
        if "are deleted" in line:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(purge, "BATCH", 3)
        patched.setattr(purge, "log_progress", die)
        with pytest.raises(KeyboardInterrupt):
            retain()
    assert events_left()[DATABASE] > 0

    all_matched(judge_since(full=True))
    assert retain()["ok"]
    assert events_left() == {DATABASE: 0, AUDIT_DATABASE: 0}
    all_matched(judge_since(full=True))


@pytest.mark.prove
def test_what_has_not_settled_stays(stack: Stack, retain: Retain) -> None:
    """An event of a transaction that ends after the reconciliation is there until it is matched.

    The control: with the transaction over, the same age lets it go.
    """
    with connect(DATABASE, "postgres") as admin:
        admin.execute("set idle_in_transaction_session_timeout = 0")
        admin.autocommit = False
        admin.execute("create table held (n int)")
        [later] = orders(1)
        until_handled()
        assert retain()["ok"]
        admin.rollback()
    assert left_of(later) == 1
    assert retain()["ok"]
    assert left_of(later) == 0


def left_of(message_id: str) -> int:
    """How many events of a message its outbox holds."""
    count = "select count(*) from outbox where payload->>'message_id' = %s"
    [(found,)] = query(count, message_id)
    return int(found)


def test_nothing_goes_while_something_is_wrong(own: Stack, retain: Retain) -> None:
    """A lost fulfillment keeps every event: it may be what the repair needs."""
    [lost, _] = orders(2)
    until_handled()
    with connect(DATABASE, "postgres") as admin:
        admin.execute("delete from fulfillment where message_id = %s", [lost])
    everything = events_left()
    result = retain()
    assert not result["ok"]
    assert result["ages"] == []
    assert events_left() == everything
    assert "nothing is deleted: repair this first" in retention.render_text(result)


CHANGES = {
    "lost": "delete from {table} where {is_event}",
    "altered": "update {table} set value = concat(value, binary(' ')) where {is_event}",
}


@pytest.fixture
def retired_event(spoiled: Stack) -> str:
    """A message all of whose events are deleted from the outbox, with a note of what they were.

    The note is of another message, too: else an event that is lost would be all that it counts.
    """
    [message_id, _] = orders(2)
    until_handled()
    event_of(message_id)
    retire = "select retire(%s, pg_current_xact_id()::text::bigint, 100000, '(0,0)')"
    with connect(DATABASE, "purger") as purger:
        purger.execute(retire, [purge.TYPES[DATABASE]])
    return message_id


@pytest.mark.prove
@pytest.mark.parametrize("defect", ["lost", "altered", "forged"])
def test_what_happens_to_a_retired_event_is_found(
    retired_event: str, judge_since: JudgeSince, spark: SparkSession, delta_root: Path, defect: str
) -> None:
    """A landed event is removed, one is altered, one is forged: the note does not match any more.

    The control: before that, it does.
    """
    wanted = (RETIRED_TO_LANDED, "different", FULFILLMENTS)
    assert wanted not in defects_in(delta_root, judge_since(full=True))
    event = event_of(retired_event)
    if defect == "forged":
        forged = event.headers | {"id": fresh("forged").encode()}
        publish(FULFILLMENTS, event._replace(headers=forged))
    else:
        table = f"delta.`{delta_root}/landed/{FULFILLMENTS}`"
        is_event = f"get_json_object(string(value), '$.message_id') = '{retired_event}'"
        spark.sql(CHANGES[defect].format(table=table, is_event=is_event))
    found = defects_in(delta_root, judge_since(full=True))
    assert wanted in found, sorted(found)
