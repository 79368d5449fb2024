"""The aggregator as processes on real parts, killed, replaced, fed with poison: one total each."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from signal import Signals
from typing import NamedTuple

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine

from extras.aggregator.group import Group
from extras.aggregator.names import INPUT_TOPIC, TOTAL_TOPIC, TOTALLED, UNRECOVERABLE
from extras.aggregator.tests.batches import COMPLETE, Total, item, published
from ops.stack.stack import Stack
from service.start import claim_event_types
from tests.client import (
    Sent,
    away,
    committed,
    connect,
    ends,
    fresh,
    query,
    send,
    until,
    until_published,
)
from tests.reconciliation import Reconcile, all_matched, hop

TOPIC, TOTALS = INPUT_TOPIC, TOTAL_TOPIC


@pytest.fixture
def aggregator(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack with an aggregator that looks for overdue groups every half second."""
    monkeypatch.setenv("REPLAY_SECONDS", "0.5")
    stack.start("aggregator")
    yield stack
    for name in ("aggregator", "aggregator-2"):
        stack.stop(name)


def items(key: str, units: Sequence[int]) -> list[Sent]:
    """Return items of this many units each, with ids of their own."""
    return [Sent(fresh("item"), key, item(n, f"{n}.10")) for n in units]


def end(key: str) -> Sent:
    """The completion of a batch."""
    return Sent(fresh("end"), key, COMPLETE)


def one_each(keys: Sequence[str], units: int) -> list[Sent]:
    """Return one item of this many units for each batch."""
    return [record for key in keys for record in items(key, [units])]


def last_one_each(keys: Sequence[str], units: int) -> list[Sent]:
    """Return one item of this many units for each batch, and the batch's completion."""
    return [record for key in keys for record in [*items(key, [units]), end(key)]]


def totals_of(keys: Sequence[str]) -> list[Total]:
    """Return what the outbox has for these groups, in the sequence of its rows."""
    rows = """
        select payload from outbox
        where aggregate_type = 'batch-total' and aggregate_id = any(%s)
        order by seq
    """
    return [total for (total,) in query(rows, list(keys))]


def until_totalled(
    keys: Sequence[str], count: int | None = None, seconds: float = 60
) -> list[Total]:
    """Wait until there are as many totals as batches, and nothing of them is open any more."""
    rows = "select batch_id from open_batch where batch_id = any(%s)"
    return until(
        lambda: (totals_of(keys), query(rows, list(keys))),
        lambda seen: len(seen[0]) >= (len(keys) if count is None else count) and not seen[1],
        seconds,
        f"not all of {len(keys)} batches are totalled",
    )[0]


def until_summed(seconds: float = 60) -> None:
    """Wait until the group has committed everything that is on the topic."""
    until(
        lambda: (committed("aggregator", TOPIC), ends(TOPIC)),
        lambda seen: seen[0] == seen[1],
        seconds,
        "the group has not committed up to the end of batch.events",
    )


def log_of(stack: Stack, name: str = "aggregator") -> str:
    """Return what a process has logged since its last start."""
    return stack.log(name).read_text().rpartition("=== started")[2]


def start_second(stack: Stack, *argv: str) -> None:
    """One instance more, and wait until it has partitions."""
    stack.supervisor.spawn(
        "aggregator-2", [sys.executable, "-m", *argv], stack.env() | {"AGGREGATOR_PORT": "0"}
    )
    until(
        lambda: log_of(stack, "aggregator-2").replace('"partitions": []', ""),
        lambda log: '"partitions": [' in log,
        30,
        "the second instance was given no partition",
    )


def told(stack: Stack, what: str, key: str) -> list[dict[str, object]]:
    """Return what the aggregator has logged of this kind about a batch."""
    lines = log_of(stack).splitlines()
    return [json.loads(line) for line in lines if what in line and key in line]


def kill(stack: Stack, name: str = "aggregator") -> None:
    """What a crash does."""
    stack.kill(name)
    stack.stop(name)


def test_a_batch_passes_every_hop(aggregator: Stack) -> None:
    """Three items and a completion become one event, byte for byte what the outbox holds."""
    key = fresh("b")
    places = send([*items(key, [3, 4, 5]), end(key)], TOPIC)
    partition, offset = places[0]
    begin = {"topic": TOPIC, "partition": partition, "offset": offset}
    [total] = until_totalled([key])
    assert total == {"batch_id": key, "begin": begin, "items": 3, "units": 12, "amount": "12.30"}
    [event] = until_published(TOTALS, lambda e: e.key == key, 1)
    [(payload,)] = query("select payload::text from outbox where aggregate_id = %s", key)
    assert event.value == payload.encode()
    group = Group(key, TOPIC, partition, offset)
    assert event.headers["id"] == group.event_id.encode()
    assert event.headers["event_type"] == b"batch-totalled"
    assert event.headers["replay"] == b"false"


def test_killed_after_k_of_n_messages_a_replay_gives_the_same_total(aggregator: Stack) -> None:
    """Sums that were lost with the memory are read again; the event says that they were."""
    key = fresh("b")
    send(items(key, [1, 2, 4]), TOPIC)
    until_summed()
    kill(aggregator)
    aggregator.start("aggregator")
    send([*items(key, [8, 16]), end(key)], TOPIC)
    [total] = until_totalled([key])
    assert total["items"] == 5
    assert total["units"] == 31
    assert total["amount"] == "31.50"
    [line] = told(aggregator, '"totalled"', key)
    assert line["replay"] is True
    [event] = until_published(TOTALS, lambda e: e.key == key, 1)
    assert event.headers["replay"] == b"true"
    until_summed()


def test_the_end_of_the_partition_leaves_a_group_open(
    aggregator: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay before the completion logs what is open; later the group is published once."""
    key = fresh("b")
    send(items(key, [1, 2, 4]), TOPIC)
    until_summed()
    kill(aggregator)
    monkeypatch.setenv("OPEN_TOO_LONG_SECONDS", "1")
    aggregator.start("aggregator")
    lines = until(
        lambda: told(aggregator, "open_too_long", key),
        bool,
        30,
        "no replay has looked at the open group",
    )
    assert lines[0]["items"] == 3
    assert totals_of([key]) == []
    send([end(key)], TOPIC)
    assert [total["units"] for total in until_totalled([key])] == [7]


STEPS = (
    "write",
    "commit",
)  # before and after the transaction; the others are tried on Postgres alone


@pytest.mark.parametrize("step", STEPS)
def test_two_instances_and_one_dies(aggregator: Stack, step: str) -> None:
    """Killed before it writes or commits, among sixty groups: one right total each."""
    prefix = fresh("two")
    keys = [f"{prefix}-{n}" for n in range(60)]
    first = [record for n in range(4) for record in one_each(keys, 2**n)]
    rest = [record for n in range(4, 8) for record in one_each(keys, 2**n)]
    send(first, TOPIC)
    until_summed()
    start_second(aggregator, "extras.aggregator.tests.e2e.crash_aggregator", step)
    send([*rest, *map(end, keys)], TOPIC)
    alive = aggregator.supervisor.alive
    until(
        lambda: alive("aggregator-2"),
        lambda lives: not lives,
        30,
        "the second instance still lives",
    )
    aggregator.stop("aggregator-2")
    totals = until_totalled(keys)
    assert sorted(total["batch_id"] for total in totals) == sorted(keys)
    assert {(total["items"], total["units"], total["amount"]) for total in totals} == {
        (8, 255, "255.80")
    }


def test_an_instance_that_was_taken_for_dead_writes_nothing(aggregator: Stack) -> None:
    """Frozen until another instance has closed its groups, it wakes up and changes nothing."""
    prefix = fresh("frozen")
    keys = [f"{prefix}-{n}" for n in range(12)]
    start_second(aggregator, "extras.aggregator")
    send(one_each(keys, 1), TOPIC)
    until_summed()
    aggregator.kill("aggregator-2", Signals.SIGSTOP)
    send(last_one_each(keys, 2), TOPIC)
    try:
        until_totalled(keys)
    finally:
        aggregator.kill("aggregator-2", Signals.SIGCONT)
    more = [f"{key}-more" for key in keys]
    send(last_one_each(more, 4), TOPIC)
    until_totalled(more)
    assert [total["units"] for total in totals_of(keys)] == [3] * len(keys)
    assert [total["units"] for total in totals_of(more)] == [4] * len(more)


def test_partitions_that_move_lose_no_group(aggregator: Stack) -> None:
    """An instance that joins and leaves takes partitions with open groups, and gives them back."""
    prefix = fresh("move")
    keys = [f"{prefix}-{n}" for n in range(12)]
    send(one_each(keys, 1), TOPIC)
    until_summed()
    start_second(aggregator, "extras.aggregator")
    send(one_each(keys, 2), TOPIC)
    until_summed()
    aggregator.stop("aggregator-2")
    send(last_one_each(keys, 4), TOPIC)
    totals = until_totalled(keys)
    assert [total["units"] for total in totals] == [7] * len(keys)


def test_poison_copies_and_a_second_group(aggregator: Stack) -> None:
    """Bad records are dead letters, copies are not summed, and a completed key begins again."""
    key = fresh("b")
    one, two = items(key, [1, 2])
    [four] = items(key, [4])
    last = end(key)
    bad = Sent(fresh("bad"), key, b'{"units": 3}')
    first_group = [one, bad, two, one, last, last]
    second_group = [one, four, end(key)]
    places = send([*first_group, *second_group], TOPIC)
    totals = until_totalled([key], 2)
    assert [total["units"] for total in totals] == [3, 4]
    partition, offset = places[1]
    place = f"{TOPIC}/{partition}/{offset}"
    [letter] = until_published("dead-letter.events", lambda e: e.key == place, 1)
    assert json.loads(letter.value)["reason"] == "amount: Field required"


def test_postgres_away_is_waited_out(aggregator: Stack) -> None:
    """Stopped at once in the middle of a batch: nothing is lost, nothing is buried, one total."""
    key = fresh("b")
    send(items(key, [1, 2]), TOPIC)
    until_summed()
    with away(aggregator, "postgres", Signals.SIGQUIT):
        send([*items(key, [4]), end(key)], TOPIC)
        until(
            lambda: log_of(aggregator).count('"outage"'),
            lambda n: n > 1,
            30,
            "it tells of no outage",
        )
    assert [total["units"] for total in until_totalled([key])] == [7]


def test_sigterm_leaves_the_group_at_once(aggregator: Stack) -> None:
    """It stops within ten seconds, the replayer too, and the next need not wait for its session."""
    until_summed()
    aggregator.stop("aggregator")
    assert '"event": "stopped"' in log_of(aggregator).splitlines()[-1]
    aggregator.start("aggregator")
    until(
        lambda: log_of(aggregator),
        lambda log: '"partitions": [0, 1, 2]' in log,
        5,
        "the old member is still in",
    )


def test_afterwards_everything_reconciles(stack: Stack, reconcile: Reconcile) -> None:
    """The totals are what Spark sums from the landed table, and every event has arrived."""
    result = all_matched(reconcile())
    groups = 60 * len(STEPS)
    summed = hop(result, "batch.events → total")
    published = hop(result, f"outbox → {TOTALS}")
    assert summed["matched"] >= groups
    assert published["matched"] >= groups


class Own(NamedTuple):
    """An aggregator that reads a topic of one test alone."""

    stack: Stack
    topic: str

    @property
    def command(self) -> list[str]:
        """Return what runs it."""
        return [sys.executable, "-m", "extras.aggregator.tests.e2e.on_topic", self.topic]

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.stack.start("aggregator", self.command)


@pytest.fixture
def own(spoiled: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Own]:
    """Return an aggregator that is not started yet, and stop it afterwards.

    What one of an earlier test has claimed is forgotten: it would be taken for a claim of this one.
    """
    monkeypatch.setenv("REPLAY_SECONDS", "0.5")
    with connect(role="postgres") as session:
        session.execute("delete from publisher where subscriber = 'aggregator'")
    topic = fresh("batch")
    client = admin()
    for made in client.create_topics([NewTopic(topic, 3, 1)]).values():
        made.result(30)
    yield Own(spoiled, topic)
    spoiled.stop("aggregator")


def admin() -> AdminClient:
    """Return the broker's administration client; a caller that awaits an answer must keep it."""
    return AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})


def run_to_its_end(command: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run an aggregator that refuses to start."""
    return subprocess.run(
        command,
        env=env | {"AGGREGATOR_PORT": "0"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def until_claimed() -> None:
    """Wait until the aggregator has claimed the events that end a group."""
    claims = "select event_type from publisher where subscriber = 'aggregator' order by 1"
    until(
        lambda: query(claims),
        lambda claimed: claimed == [(TOTALLED,), (UNRECOVERABLE,)],
        30,
        "the aggregator has not claimed its events",
    )


def test_another_subscriber_may_not_publish_totals(own: Own, engine: Engine) -> None:
    """The aggregator claims its events: an aggregator or a service of another name is refused."""
    own.start()
    until_claimed()
    for event_type in (TOTALLED, UNRECOVERABLE):
        with pytest.raises(SystemExit):
            claim_event_types(engine, "somebody else", [event_type])
    ended = run_to_its_end(own.command, own.stack.env() | {"AGGREGATOR_GROUP_ID": "another"})
    assert ended.returncode == 2
    [sentence] = [line for line in ended.stderr.splitlines() if not line.startswith("{")]
    assert sentence == (
        f"AGGREGATOR_GROUP_ID=another: {TOTALLED} is already published by subscriber aggregator;"
        " set AGGREGATOR_GROUP_ID=aggregator, or give this subscriber events of its own in"
        " extras/aggregator/names.py"
    )


def test_control_without_the_claim_another_subscriber_is_let_in(own: Own, engine: Engine) -> None:
    """What refuses it is the aggregator's rows of `publisher`, and nothing else."""
    own.start()
    until_claimed()
    with connect(role="postgres") as admin:
        unclaim = "delete from publisher where event_type = %s"
        admin.execute(unclaim, [TOTALLED])
        claim_event_types(engine, "somebody else", [TOTALLED])
        admin.execute(unclaim, [TOTALLED])
    claim_event_types(engine, "aggregator", [TOTALLED])


def test_records_that_are_gone_are_told_on_the_topic(own: Own) -> None:
    """Where retention took a group's beginning, an event says that its total will not come."""
    topic, key = own.topic, fresh("b")
    own.start()
    [(partition, offset), _] = send(items(key, [1, 2]), topic)
    until(
        lambda: committed("aggregator", topic)[partition],
        lambda at: at == offset + 2,
        30,
        "the items are not summed",
    )
    kill(own.stack)
    client = admin()
    for deleted in client.delete_records([TopicPartition(topic, partition, offset + 1)]).values():
        deleted.result(30)
    own.start()
    send([end(key), *items(key, [4]), end(key)], topic)
    events = until_published(TOTALS, lambda e: e.key == key, 2)
    bodies = {event.headers["event_type"]: json.loads(event.value) for event in events}
    begin = {"topic": topic, "partition": partition, "offset": offset}
    assert bodies[b"batch-unrecoverable"] == {
        "batch_id": key,
        "begin": begin,
        "reason": "records_gone",
    }
    assert bodies[b"batch-totalled"]["units"] == 4
    assert (len(published(topic)), query("select 1 from open_batch where topic = %s", topic)) == (
        1,
        [],
    )


def test_a_topic_that_was_made_anew_stops_the_aggregator(own: Own) -> None:
    """Summed up to beyond the topic's end, it says so and ends instead of skipping new records."""
    topic = own.topic
    with connect(role="app") as connection:
        for partition in range(3):
            connection.execute("insert into batch_position values (%s, %s, 99)", [topic, partition])
    send([*items(fresh("b"), [1])], topic)
    ended = run_to_its_end(own.command, own.stack.env())
    assert ended.returncode == 1
    assert (
        "ends at 1, but is summed up to 99: was the topic made again?"
        in ended.stderr.splitlines()[-1]
    )
