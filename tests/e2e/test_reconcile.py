"""Reconciliation on the running stack: it finds what is wrong, and nothing where nothing is."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from contract.events import ACCEPTED, DEAD_LETTER, EVENTS
from contract.names import INPUT_TOPIC
from contract.samples import CHANGED
from ops.stack.stack import Stack
from spark.hops import (
    FORGOTTEN_TO_LANDED,
    TOPICS_TO_LANDED,
    TRACKING_TO_AUDIT_ENTRY,
    TRACKING_TO_AUDIT_MARK,
    input_to_tracking,
    ledger_to_input,
)
from spark.judging.horizon import Horizon
from spark.judging.settled import Options, select_since
from spark.kafka.topic_ids import Later, find_topic_ids
from spark.lake.losses import parse_loss
from spark.landing.landing_query import accept_later, accept_losses, start_landing
from spark.parts import load_parts
from spark.reconcile import open_session, run
from spark.reporting.report import shorten
from spark.rows.snapshot import (
    LARGE,
    Selection,
    Snapshot,
    count_bytes,
    open_snapshot,
    open_snapshots,
    read_tables,
    select_all,
    select_rows,
    table_statements,
)
from spark.settings import Settings as SparkSettings
from spark.topics import topics_to_land
from tests.builders import value
from tests.client import (
    Landed,
    Sent,
    away,
    connect,
    ends,
    exactly_one,
    fresh,
    query,
    send,
    until,
    until_handled,
    until_published,
)
from tests.load import load, orders
from tests.own_service import handle_all, make_again, make_topic, run_offsets
from tests.reconciliation import GOOD, Reconcile, all_matched, hop


def event_of(message_id: str, topic: str = "fulfillment.events") -> Landed:
    """The event of a message."""
    return until_published(topic, lambda e: json.loads(e.value).get("message_id") == message_id, 1)[
        0
    ]


def publish(topic: str, event: Landed, content: bytes | None = None) -> None:
    """Put an event on its topic once more, as Connect does after a crash, or with other content."""
    producer = Producer(
        {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "partitioner": "murmur2_random",
        }
    )
    producer.produce(topic, content or event.value, event.key, headers=list(event.headers.items()))
    assert producer.flush(10) == 0


def type_reconcile(stack: Stack, **settings: str) -> subprocess.CompletedProcess[str]:
    """What `pipeline reconcile --land` prints, and its exit code."""
    command = [str(Path(sys.executable).with_name("pipeline")), "reconcile", "--land"]
    env = stack.env() | {"ATTACH": "true"} | settings  # to the stack whose addresses these are
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=240, check=False
    )


def test_a_dead_service_is_behind(alone: Stack) -> None:
    """With 2,000 orders waiting for a service that is dead, the verdict names hop, number and time.

    `pipeline reconcile` exits 1: nothing is lost, but nothing moves either.
    """
    until_handled()
    with away(alone, "service"):
        ids = orders(2_000)
        done = type_reconcile(alone, RECONCILE_BEHIND_SECONDS="3")
    assert done.returncode == 1, done.stdout + done.stderr
    *_, stuck, _report, verdict = done.stdout.splitlines()
    name = input_to_tracking(INPUT_TOPIC)
    assert re.fullmatch(rf"verdict: behind: {name}, 2,000 wait since [\d: -]{{19}} UTC", verdict)
    assert stuck.startswith(f"behind: {name}: 2,000 wait; {INPUT_TOPIC}/")
    assert stuck.endswith("does the service run?")
    until_handled()
    exactly_one(ids)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call what has not moved for three seconds behind."""
    monkeypatch.setenv("RECONCILE_BEHIND_SECONDS", "3")


def waiting(result: dict[str, Any]) -> dict[str, int]:
    """How many ids wait in each hop that is behind, in a run that found nothing else."""
    assert not result["ok"]
    assert result["findings"] == []
    assert all(one["since"] for one in result["behind"])
    return {one["hop"]: one["waiting"] for one in result["behind"]}


def count_tracked(ids: list[str]) -> int:
    """Return how many of these messages the service has written."""
    [(count,)] = query("select count(*) from tracking where message_id = any(%s)", ids)
    return int(count)


@pytest.mark.prove
def test_a_dead_audit_receiver_is_behind(
    stack: Stack, impatient: None, reconcile: Reconcile
) -> None:
    """Orders that are written but not audited wait in the hops to the audit receiver."""
    until_handled()
    with away(stack, "audit"):
        ids = orders(30)
        until(lambda: count_tracked(ids), bool, 30, "nothing is written")
        found = waiting(reconcile())
        written = count_tracked(ids)
    # The service waits with its first batch, and on a busy machine that need not be all of them.
    expected = {TRACKING_TO_AUDIT_ENTRY: written, TRACKING_TO_AUDIT_MARK: written}
    if written < len(ids):
        expected[input_to_tracking(INPUT_TOPIC)] = len(ids) - written
    assert found == expected
    until_handled()
    exactly_one(ids)


@pytest.mark.prove
def test_a_dead_connect_is_behind(stack: Stack, impatient: None, reconcile: Reconcile) -> None:
    """Events that nobody publishes wait in the hops to their topics: they are not missing yet."""
    stack.stop("connect")
    try:
        ids = orders(30)
        until_handled()
        found = waiting(reconcile())
    finally:
        stack.start("connect")
        for name, command in stack.part("connect").then.items():
            stack.run(name, command)
    topics = {event.topic for event in EVENTS if ACCEPTED in (event.outcome, event.follows)}
    hops = {f"outbox → {topic}" for topic in (*topics, "audit.events")}
    assert found == dict.fromkeys(hops, 30)
    wanted = set(ids)
    until_published(
        "audit.events", lambda event: json.loads(event.value)["message_id"] in wanted, len(ids)
    )


@pytest.mark.prove
def test_a_landing_that_does_not_run_is_behind(
    stack: Stack, impatient: None, spark: SparkSession
) -> None:
    """Without a landing nothing is compared, and the hop to the lake says what has not landed."""
    all_matched(run_once(spark, land=True))
    orders(30)
    until_handled()
    result = run_once(spark, land=False)
    assert waiting(result)[TOPICS_TO_LANDED] >= 30
    assert result["hops"] == []
    assert Path(result["report"]).exists()


def run_once(
    spark: SparkSession, *, land: bool, ledger: str | None = None, **settings: Any
) -> dict[str, Any]:
    """Reconcile the stack of this test, with settings of its own."""
    options = Options(land=land, ledger=ledger, deadline=time.monotonic() + 120)
    result = run(spark, SparkSettings(**settings), load_parts(), options)
    spark.catalog.clearCache()
    return result


def test_the_command_finds_nothing_in_a_clean_run(stack: Stack) -> None:
    """Redeliveries, a rejection, a conflict and poison are matched, and all that earlier tests did.

    `pipeline reconcile` prints table, report's path and verdict, and exits 0 for a good one.
    """
    [first, *_] = orders(50)
    again = [Sent(first, first, value(first))] * 2
    second = Sent(fresh("second"), first, value(first))
    conflict = Sent(first, first, value(first, **CHANGED))
    send([*again, second, conflict, Sent("poison", "poison", b"{")])
    until_handled()
    done = type_reconcile(stack)
    assert done.returncode == 0, done.stdout + done.stderr
    *table, report, verdict = done.stdout.splitlines()
    assert verdict == GOOD
    assert Path(report.removeprefix("report: ")).exists()
    name = shorten(input_to_tracking(INPUT_TOPIC))
    [counts] = [line.removeprefix(name).split() for line in table if line.startswith(name)]
    _in, _out, removed, _rejected, letters, *_ = (int(count.replace(",", "")) for count in counts)
    assert removed >= 2, counts
    assert letters >= 2, counts


@pytest.mark.prove
def test_under_load_and_lagging_it_finds_nothing(stack: Stack, reconcile: Reconcile) -> None:
    """While orders keep coming, and some are not settled yet, no id is lost: late ones are late."""
    with load(bursts=500, pause=0.1):
        result = all_matched(reconcile())
    late = hop(result, input_to_tracking(INPUT_TOPIC))["late"]
    assert late > 0, "nothing came between snapshot and landing: this proved nothing"
    assert result["verdict"] == f"{GOOD}; {late:,} on their way"


@pytest.mark.prove
def test_a_second_copy_of_an_event_is_allowed(stack: Stack, reconcile: Reconcile) -> None:
    """The same event twice on the topic, same id and bytes, is one duplicate removed."""
    [message_id] = orders(1)
    until_handled()  # nothing of what came under load is late any more: all of it is judged
    before = hop(all_matched(reconcile()), "outbox → fulfillment.events")["duplicates_removed"]
    publish("fulfillment.events", event_of(message_id))
    after = hop(all_matched(reconcile()), "outbox → fulfillment.events")["duplicates_removed"]
    assert after == before + 1


def defects(stack: Stack, result: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Return hop, outcome and id of every defect of a run of this stack's lake."""
    return defects_in(Path(stack.env()["DELTA_ROOT"]), result)


def defects_in(delta_root: Path, result: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Return hop, outcome and id of every defect of a run; the findings are only the first."""
    if not result["findings"]:
        return set()
    outcomes = (
        QueryBuilder()
        .register("outcome", DeltaTable(delta_root / "reconcile" / "outcome"))
        .execute(
            f"select hop, outcome, id from outcome where run_id = '{result['run_id']}'"
            " and outcome not in ('matched', 'late')"
        )
        .read_all()
    )
    columns = [outcomes.column(name).to_pylist() for name in ("hop", "outcome", "id")]
    return set(zip(*columns, strict=True))


def reject(winner: str) -> str:
    """Send another message for an order that a message has won; return its id, once handled."""
    [(order_id,)] = query("select order_id from fulfillment where message_id = %s", winner)
    message_id = fresh("m")
    send([Sent(message_id, order_id, value(order_id))])
    until_handled()
    assert query("select from rejection where message_id = %s", message_id)
    return message_id


def test_every_planted_defect_is_found(
    alone: Stack, reconcile: Reconcile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fifteen messages thirteen are spoiled in one way each: each is found in its hop.

    With digests, as from 50,000 orders on; the tests beside this one do without.
    """
    monkeypatch.setenv("RECONCILE_DIGEST_ORDERS", "0")
    names = ["unpublished", "altered", "twice", "three times", "unaudited", "audited twice",
             "unfulfilled", "other total", "other value", "unmarked", "phantom", "good",
             "also good"]  # fmt: skip
    ids = dict(zip(names, orders(len(names)), strict=True))
    until_handled()
    events = {name: event_of(message_id) for name, message_id in ids.items()}
    for name in ("rejected", "unrejected"):
        ids[name] = reject(ids["good"])
    with connect("fulfillment", "postgres") as admin:
        spoil = admin.execute
        columns = "aggregate_type, aggregate_id, event_type, traceparent, payload"
        copy = f"""
            insert into outbox (event_id, {columns})
            select gen_random_uuid(), {columns} from outbox
            where payload->>'message_id' = %s and aggregate_type = 'fulfillment'
        """.encode()
        spoil("alter publication outbox drop table outbox")
        spoil(copy, [ids["unpublished"]])
        spoil("alter publication outbox add table outbox")
        spoil(copy, [ids["twice"]])
        spoil(copy, [ids["three times"]])
        spoil(copy, [ids["three times"]])
        spoil("delete from fulfillment where message_id = %s", [ids["unfulfilled"]])
        spoil(
            "update fulfillment set total = total + 0.01 where message_id = %s",
            [ids["other total"]],
        )
        other_value = "update fulfillment set value_sha256 = sha256('other') where message_id = %s"
        spoil(other_value.encode(), [ids["other value"]])
        spoil("delete from rejection where message_id = %s", [ids["unrejected"]])
        spoil("update tracking set audited_at = null where message_id = %s", [ids["unmarked"]])
    with connect("audit", "postgres") as admin:
        admin.execute("delete from audit_entry where message_id = %s", [ids["unaudited"]])
        admin.execute(
            "insert into audit_entry select %s, gen_random_uuid(), message_id, order_id, outcome,"
            " fulfillment_id, total, body_sha256, answer from audit_entry where message_id = %s",
            [fresh("key"), ids["audited twice"]],
        )
    altered = events["altered"].value[:-1] + b" }"  # the same JSON, in other bytes
    publish("fulfillment.events", events["altered"], altered)
    phantom = events["phantom"]._replace(
        headers=events["phantom"].headers | {"id": fresh("event").encode()}
    )
    publish("fulfillment.events", phantom)

    found = defects(alone, reconcile())

    assert {(outcome, id_) for _, outcome, id_ in found if id_ in ids.values()} == {
        ("duplicate", ids["unpublished"]),
        ("duplicate", ids["twice"]),
        ("duplicate", ids["three times"]),
        ("missing", ids["unaudited"]),
        ("duplicate", ids["audited twice"]),
        ("missing", ids["unfulfilled"]),
        ("different", ids["other total"]),
        ("different", ids["other value"]),
        ("missing", ids["unrejected"]),
        ("missing", ids["unmarked"]),
    }
    by_event = {
        (outcome, id_) for hop_, outcome, id_ in found if hop_ == "outbox → fulfillment.events"
    }
    assert ("different", events["altered"].headers["id"].decode()) in by_event
    assert ("extra", phantom.headers["id"].decode()) in by_event
    [(never,)] = query(
        "select event_id::text from outbox"
        " where payload->>'message_id' = %s and aggregate_type = 'fulfillment'"
        " order by seq desc limit 1",
        ids["unpublished"],
    )
    assert ("missing", never) in by_event


def test_a_landed_row_removed_or_doubled_is_found(
    alone: Stack, reconcile: Reconcile, spark: SparkSession
) -> None:
    """One landed record removed and one landed twice are found by their positions."""
    prefix = fresh("land")
    places = send([Sent(f"{prefix}-{n}", prefix, value(f"{prefix}-{n}")) for n in range(3)])
    until_handled()
    settings = SparkSettings()
    topics = topics_to_land(settings, load_parts()).all()
    start_landing(spark, settings, topics, once=True).awaitTermination()
    table = DeltaTable(f"{alone.env()['DELTA_ROOT']}/landed/order.events")
    (gone, twice) = (
        f'partition = {partition} and "offset" = {offset}' for partition, offset in places[:2]
    )
    row = (
        QueryBuilder()
        .register("landed", table)
        .execute(f"select * from landed where {twice}")
        .read_all()
    )
    write_deltalake(table, row, mode="append")
    table.delete(gone)

    found = {(outcome, id_) for _, outcome, id_ in defects(alone, reconcile())}

    [missing, doubled] = (f"order.events/{partition}/{offset}" for partition, offset in places[:2])
    assert ("missing", missing) in found
    assert ("duplicate", doubled) in found


def send_with_ledger(topic: str, count: int, ledger: Path) -> list[tuple[int, int]]:
    """Send a record that is no order and so many orders, and note what was acknowledged."""
    bad = Sent("bad", "bad", b"{")
    names = [fresh("order") for _ in range(count)]
    sent = [bad, *(Sent(name, name, value(name)) for name in names)]
    places = send(sent, topic)
    with ledger.open("a") as lines:
        for one, (partition, offset) in zip(sent, places, strict=True):
            content = one.value or b""
            line = {
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "value_sha256": sha256(content).hexdigest(),
                "message_id": one.message_id,
                "expected": DEAD_LETTER if one is bad else ACCEPTED,
            }
            lines.write(json.dumps(line) + "\n")
    return places


@pytest.mark.prove
@pytest.mark.parametrize("count", [10, 60])
def test_a_topic_that_was_created_again_reconciles(
    stack: Stack, spark: SparkSession, tmp_path: Path, count: int
) -> None:
    """Shorter or longer than the earlier one: each record is compared by the topic that it is of.

    Nothing is lost or doubled, also by the producer's ledger; a landed row that is taken away from
    either is found.
    """
    until_handled()
    topic = make_topic()
    ledger = tmp_path / "ledger.jsonl"
    root = tmp_path / "delta"
    settings = SparkSettings(input_topic=topic, group_id=topic, delta_root=str(root))
    own = settings.model_dump(include={"input_topic", "group_id", "delta_root"})
    reconcile = partial(run_once, spark, land=True, ledger=str(ledger), **own)
    places = send_with_ledger(topic, 30, ledger)
    handle_all(stack, topic)
    all_matched(reconcile())
    make_again(topic)
    later_places = send_with_ledger(topic, count, ledger)
    assert run_offsets(stack, topic, "--accept-loss").returncode == 0
    handle_all(stack, topic)
    with pytest.raises(SystemExit):
        reconcile()
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    topics = topics_to_land(settings, load_parts()).all()
    [topic_id] = find_topic_ids(admin, [topic]).values()
    later = Later(topic, topic_id)
    accept_later(spark, settings, topics, [later])

    result = all_matched(reconcile())

    [accepted] = result["accepted_losses"]
    assert accepted.startswith(f"{later}: ")
    for name in (ledger_to_input(topic), input_to_tracking(topic)):
        assert hop(result, name)["in"] == len(places) + len(later_places)
    table = DeltaTable(root / "landed" / topic)
    gone = {str(later): sorted(later_places)[1], topic: sorted(places)[1]}
    for name, (partition, offset) in gone.items():
        table.delete(f"topic = '{name}' and partition = {partition} and \"offset\" = {offset}")
    found = {(outcome, id_) for _, outcome, id_ in defects_in(root, reconcile())}
    positions = [f"{name}/{partition}/{offset}" for name, (partition, offset) in gone.items()]
    assert {("missing", position) for position in positions} <= found
    [(partition, offset), _] = gone.values()
    by_ledger = f"{topic}/{partition}/{offset}"  # which does not know of the later topic
    assert {id_ for _outcome, id_ in found} <= {*positions, by_ledger}


@pytest.mark.prove
def test_an_accepted_loss_is_in_every_report(
    alone: Stack, spark: SparkSession, reconcile: Reconcile, capsys: pytest.CaptureFixture[str]
) -> None:
    """Orders that Kafka deleted before they landed stop the run, and are no defect once accepted.

    Both runs after that show the loss, and their events and rows are judged as ever.
    """
    reconcile()
    places = send([Sent(name, name, value(name)) for name in (fresh("lost") for _ in range(30))])
    until_handled()
    lost = {f"{INPUT_TOPIC}/{partition}/{offset}" for partition, offset in places}
    below = [TopicPartition(INPUT_TOPIC, number, end) for number, end in ends().items()]
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    for deleted in admin.delete_records(below).values():
        deleted.result()

    with pytest.raises(SystemExit) as ended:
        reconcile()
    assert ended.value.code == 2
    named = re.findall(r"--accept-loss (\S+)", capsys.readouterr().err)
    settings = SparkSettings()
    topics = topics_to_land(settings, load_parts()).all()
    accept_losses(spark, settings, topics, [parse_loss(name) for name in named])

    for _ in range(2):
        result = reconcile()
        shown = [line.partition(",")[0] for line in result["accepted_losses"]]
        assert shown == sorted(named)
        assert lost & {id_ for _hop, _outcome, id_ in defects(alone, result)} == set()


@pytest.mark.prove
def test_for_a_group_that_has_handled_nothing_everything_is_late(
    stack: Stack, impatient: None, spark: SparkSession
) -> None:
    """GROUP_ID says whose committed offsets decide what is judged; this group is behind."""
    result = run_once(spark, land=True, group_id=fresh("group"))
    name = input_to_tracking(INPUT_TOPIC)
    counts = hop(result, name)
    assert counts["in"] == counts["out"] == 0
    assert counts["late"] > 0
    assert [one["hop"] for one in result["behind"]] == [name]
    assert result["findings"] == []


@pytest.mark.prove
def test_a_table_that_is_read_in_ranges_has_each_row_once(
    spark: SparkSession, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several tasks read a large table at one moment, while rows are added and updated."""
    settings = SparkSettings()
    orders(500)
    until_handled()
    with (
        load(),
        open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots,
    ):
        whole = read_tables(spark, settings.subscriber, snapshots)
        monkeypatch.setattr("spark.rows.snapshot.PAGES_OF_A_RANGE", 2)
        in_ranges = read_tables(spark, settings.subscriber, snapshots)
        for name in LARGE:
            assert sorted(in_ranges[name].collect()) == sorted(whole[name].collect()), name
        assert whole["tracking"].rdd.getNumPartitions() == 1
        assert in_ranges["tracking"].rdd.getNumPartitions() > 2


def test_only_the_tables_that_are_asked_for_are_read(spark: SparkSession, stack: Stack) -> None:
    """Each table takes a connection, even if no row of it is wanted."""
    settings = SparkSettings()
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        asked = ["repair", "outbox"]
        assert list(read_tables(spark, settings.subscriber, snapshots, only=asked)) == asked


def test_from_a_horizon_no_noted_ranges_are_read(
    spark: SparkSession, stack: Stack, request: pytest.FixtureRequest
) -> None:
    """There are more of them each day, and only a whole run makes rows again; that one has them."""
    settings = SparkSettings()
    with connect(role="postgres") as admin:
        noted = "insert into forgotten_offsets values (%s, 'none', 0, 0, '{[1,2),[3,4)}')"
        admin.execute(noted, [settings.subscriber])
        request.addfinalizer(drop_noted)
    with open_snapshots(settings.databases(), settings.reconciler_password_file) as snapshots:
        selects = {"whole": select_all, "since": select_since(horizon_at(snapshots), snapshots)}
        counts = {}
        for name, select in selects.items():
            only = ["forgotten_range"]
            found = read_tables(spark, settings.subscriber, snapshots, select, only)
            counts[name] = found["forgotten_range"].where("topic = 'none'").count()
    assert counts == {"whole": 2, "since": 0}


def drop_noted() -> None:
    """Drop the ranges of the topic that is not there."""
    with connect(role="postgres") as admin:
        admin.execute("delete from forgotten_offsets where topic = 'none'")


def horizon_at(snapshots: Mapping[str, Snapshot]) -> Horizon:
    """Return a horizon of this moment."""
    return Horizon(
        run_id="",
        full_run_id="",
        runs_since_full=0,
        orders=0,
        judge_all="",
        moments={name: one.moment for name, one in snapshots.items()},
        read_from=dict.fromkeys(snapshots, 0),
        versions={},
        topic_ids={},
        ends={},
        forgotten={},
        losses=0,
    )


def test_a_session_suits_what_the_databases_hold(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables that grow are measured in both databases; from a size on, it is a long job."""
    settings = SparkSettings()
    password_file = settings.reconciler_password_file
    of_each = [count_bytes([url], password_file) for url in settings.databases().values()]
    assert all(of_each)
    assert count_bytes(settings.databases().values(), password_file) >= sum(of_each)

    chosen = []
    monkeypatch.setattr("spark.reconcile.make_session", lambda *_, is_long: chosen.append(is_long))
    for size in (sum(of_each), 1000 * sum(of_each)):
        monkeypatch.setattr("spark.reconcile.LONG_FROM_BYTES", size)
        open_session("any", settings)
    assert chosen == [True, False]


def test_a_database_of_an_unknown_schema_is_refused(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database without our tables is named in a sentence, exit code 2, before Spark reads it."""
    settings = SparkSettings()
    tracking = select_rows(table_statements()["tracking"], Selection())
    ours = settings.database_url
    other = make_conninfo(ours, dbname="postgres")
    password_file = settings.reconciler_password_file
    with open_snapshot(ours, "any slot", password_file) as snapshot:
        snapshot.check(tracking)
    with (
        open_snapshot(other, "any slot", password_file) as snapshot,
        pytest.raises(SystemExit) as ended,
    ):
        snapshot.check(tracking)
    assert ended.value.code == 2
    [sentence] = capsys.readouterr().err.splitlines()
    assert sentence == (
        'database postgres is not of this version: relation "tracking" does not exist;'
        " run python -m migrations upgrade"
    )


ANOTHER_TOPIC_STAYS = """
    update tracking
    set handled_at = now() + interval '1 day'
    where split_part(topic, '@', 1) <> %s
"""


@pytest.mark.prove
def test_what_was_forgotten_is_no_finding(stack: Stack, reconcile: Reconcile) -> None:
    """After `pipeline forget` everything reconciles as before; one more row that is gone is found.

    It comes last: what the tests before it have left is forgotten here.
    """
    orders(10)
    until_handled()
    with connect(role="postgres") as admin:  # the records of other topics are in other lakes
        admin.execute(ANOTHER_TOPIC_STAYS, [INPUT_TOPIC])
    young = (
        "select count(*) from tracking where handled_at between now() - interval '2 s' and now()"
    )
    until(lambda: query(young), lambda rows: rows == [(0,)], 30, "rows are younger than 2 s")
    pipeline = str(Path(sys.executable).with_name("pipeline"))
    done = subprocess.run(
        [pipeline, "forget", "--older-than", "1s", "--risk-doubles", "--json"],
        env=stack.env() | {"ATTACH": "true"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(done.stdout)["forgotten"] >= 10
    [(partitions,)] = query("select count(*) from forgotten")
    assert hop(all_matched(reconcile()), FORGOTTEN_TO_LANDED)["matched"] == partitions

    [gone] = orders(1)
    until_handled()
    place = "concat_ws('/', topic, partition, \"offset\")"
    [(position,)] = query(f"select {place} from tracking where message_id = %s", gone)
    with connect(role="postgres") as admin:
        admin.execute("delete from tracking where message_id = %s", [gone])
    found = {(row["hop"], row["outcome"], row["id"]) for row in reconcile()["findings"]}
    assert (input_to_tracking(INPUT_TOPIC), "missing", position) in found
