"""Kafka's dangerous moments: each is waited out, or ends the service with one sentence."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from signal import Signals
from subprocess import PIPE

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without types
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions

from ops.stack.stack import Stack
from service.consumer import ALIVE_SECONDS, RecordConsumer
from service.outage import MOMENT, OutageError
from service.settings import OFFSET_COMMIT_SECONDS, Settings
from service.stop import LEAVE_SECONDS
from tests.builders import value
from tests.client import (
    PRODUCER,
    Sent,
    away,
    committed,
    connect,
    counts,
    exactly_one,
    fresh,
    query,
    send,
    send_in_transaction,
    until,
    until_handled,
)
from tests.load import orders
from tests.own_service import (
    OwnService,
    handle_all,
    leaving,
    make_again,
    make_topic,
    own_service,
    run_offsets,
)

AUTHORIZER = """
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
"""
HANDLED = "select message_id from tracking where message_id = any(%s)"


def values(count: int) -> dict[str, bytes]:
    """Return good orders by their message ids."""
    prefix = fresh("order")
    return {f"{prefix}-{n}": value(f"{prefix}-{n}") for n in range(count)}


def member(topic: str, **changed: int) -> RecordConsumer:
    """Return a member of the topic's group, in this process."""
    settings = Settings(
        kafka_bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        input_topic=topic,
        group_id=topic,
        session_timeout_ms=6000,
    )
    return RecordConsumer(settings.model_copy(update=changed), is_stopping=lambda: False)


@contextmanager
def frozen(stack: Stack, name: str) -> Iterator[None]:
    """Freeze a part for the time of a block: it keeps its connections and does not answer."""
    stack.kill(name, Signals.SIGSTOP)
    try:
        yield
    finally:
        stack.kill(name, Signals.SIGCONT)


def test_what_a_producer_has_aborted_is_no_order(stack: Stack) -> None:
    """Of transactions, only what was committed is handled; behind them nothing seems to wait.

    That the offsets of aborted records and markers are not taken for missing records is judged by
    the reconciliation of everything that the tests have left.
    """
    good, aborted = values(60), values(60)
    send_in_transaction(good, commit=True)
    send_in_transaction(aborted, commit=False)
    until_handled(30)  # up to the ends, although the last offsets hold no record
    exactly_one(list(good))
    assert not any(counts(list(aborted)).values())


def test_a_partition_that_comes_back_within_a_gather_is_not_passed_over(spoiled: Stack) -> None:
    """Taken away and given back while a batch is gathered: its records are in a batch, or come."""
    topic = make_topic()
    orders(300, topic)
    ours = member(topic, batch_window_ms=9000, batch_records=1000)

    def borrow() -> None:
        assert is_assigned.wait(20), "there is nothing to take away"
        other = member(topic)
        with leaving(other):
            until(lambda: (other.gather(), other.assigned()), lambda got: bool(got[1]), 20, "none")

    is_assigned = threading.Event()
    taken: list[TopicPartition] = []
    on_assign, on_revoke = ours.on_assign, ours.on_revoke

    def note_given(client: Consumer, partitions: list[TopicPartition]) -> None:
        on_assign(client, partitions)
        is_assigned.set()

    def note_taken(client: Consumer, partitions: list[TopicPartition]) -> None:
        taken.extend(partitions)
        on_revoke(client, partitions)

    ours.on_assign = note_given  # type: ignore[method-assign, assignment]
    ours.on_revoke = note_taken  # type: ignore[method-assign, assignment]
    borrower = threading.Thread(target=borrow)
    with leaving(ours):
        borrower.start()
        batch = until(ours.gather, bool, 20, "no record comes")
        borrower.join()
        assert taken, "no partition was taken away: this proved nothing"
        assert ours.assigned() == {0, 1, 2}
        ours.commit(batch)
        seen = {(record.partition, record.offset) for record in batch}
        ours.settings = ours.settings.model_copy(update={"batch_window_ms": 50})
        later = set(send([Sent(None, f"{n}", b"later") for n in range(30)], topic))

        def gather_all() -> bool:
            more = ours.gather()
            if more:
                ours.commit(more)
            seen.update((record.partition, record.offset) for record in more)
            return later <= seen

        until(gather_all, bool, 20, "the later records do not come")
    passed = {(n, offset) for n, end in committed(topic, topic).items() for offset in range(end)}
    assert passed <= seen, f"{len(passed - seen)} records were committed and never handled"
    assert len(passed) == 330


def corrupt(stack: Stack, topic: str, text: bytes) -> None:
    """Change one byte of a record on the broker's disk."""
    file = stack.settings.data_dir / "kafka" / f"{topic}-0" / f"{0:020}.log"
    content = file.read_bytes()
    place = content.index(text)
    with file.open("r+b") as segment:
        segment.seek(place)
        segment.write(b"X")


def test_a_corrupt_batch_stops_the_service(spoiled: Stack) -> None:
    """Bytes that the disk has changed are neither handled nor passed over.

    The control: without the check of checksums, the client hands them over like any others.
    """
    topic = make_topic(1)
    ids = [orders(1, topic)[0] for _ in range(3)]  # a batch each
    corrupt(spoiled, topic, ids[1].encode())
    with own_service(spoiled, topic) as service:
        sentence = service.sentence()
    assert sentence.startswith(f"service: {topic}/0: a batch of records is corrupt (")
    assert query(HANDLED, ids[1:]) == []
    assert committed(topic, topic)[0] <= 1

    unchecked = member(topic).settings.kafka() | {"group.id": fresh(), "check.crcs": False}
    with Consumer(unchecked) as client:
        client.assign([TopicPartition(topic, 0, 1)])
        message = client.poll(20)
        assert message is not None
        assert (message.error(), message.offset()) == (None, 1)
        assert b"X" in (message.value() or b"") + (message.key() or b"")


def test_a_topic_that_does_not_exist_is_named(spoiled: Stack) -> None:
    """The service ends with one sentence that says what may be lost and what to do."""
    with own_service(spoiled, fresh("nowhere")) as service:
        sentence = service.sentence()
    assert sentence.startswith("service: INPUT_TOPIC=nowhere-")
    assert "python -m connect topics" in sentence


@contextmanager
def with_authorizer(stack: Stack) -> Iterator[AdminClient]:
    """Start the broker once more with access rules; who has no rule against him may do anything."""
    part = stack.part("kafka")
    file = stack.settings.run_dir / "broker.properties"
    stack.stop("kafka")
    part.prepare(stack.run)
    with file.open("a") as properties:
        properties.write(AUTHORIZER)
    stack.supervisor.spawn("kafka", part.argv, stack.env())
    try:
        stack.wait("kafka")
        yield AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    finally:
        stack.start("kafka")


@pytest.mark.prove
@pytest.mark.parametrize("kind", [ResourceType.TOPIC, ResourceType.GROUP])
def test_a_denied_topic_or_group_is_named(spoiled: Stack, kind: ResourceType) -> None:
    """The service ends with a sentence; once it is allowed again, it goes on."""
    topic = make_topic()
    ids = orders(30, topic)
    handle_all(spoiled, topic)
    denial = (
        kind,
        topic,
        ResourcePatternType.LITERAL,
        "User:ANONYMOUS",
        "*",
        AclOperation.READ,
        AclPermissionType.DENY,
    )
    rule = AclBinding(*denial)
    with with_authorizer(spoiled) as admin:
        admin.create_acls([rule])[rule].result(30)
        with own_service(spoiled, topic) as service:
            sentence = service.sentence()
        assert f"denies topic {topic} or group {topic} (" in sentence
        same = AclBindingFilter(*denial)
        admin.delete_acls([same])[same].result(30)
    ids += orders(30, topic)
    handle_all(spoiled, topic)
    exactly_one(ids)


def test_added_partitions_are_read_from_their_beginning(spoiled: Stack) -> None:
    """Partitions that are added under load are found by the service, and no record is missed."""
    topic = make_topic(2)
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    with own_service(spoiled, topic) as service:
        ids = orders(100, topic)
        service.until_logged('"event": "assigned"')
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
        ids += orders(30, topic)
        service.until_logged('"event": "assigned"', count=2)
        ids += orders(100, topic)
        until_handled(30, topic, topic)
        assert service.stop() == 0
    assert committed(topic, topic)[2] > 0, "nothing came to the new partition: this proved nothing"
    exactly_one(ids)


@pytest.mark.parametrize(
    "mode",
    ["watched", pytest.param("unwatched", id="control: unwatched", marks=pytest.mark.prove)],
)
def test_a_client_that_the_group_has_lost_is_replaced(spoiled: Stack, mode: str) -> None:
    """It would poll for ever, without a partition and without an error; a new process goes on.

    librdkafka gets there when a broker that is about to go tells it that there are no brokers.
    """
    topic = make_topic()
    ids = orders(30, topic)
    module = ("tests.e2e.faulty_client", mode)
    with own_service(spoiled, topic, module, REJOIN_SECONDS="3") as service:
        service.until_logged('"event": "revoked"')
        ids += orders(30, topic)
        if mode == "unwatched":
            with pytest.raises(AssertionError, match="has not committed"):
                until_handled(10, topic, topic)
            assert service.log().count('"event": "assigned"') == 1
            return
        service.until_logged('"event": "out_of_group"')
        until_handled(30, topic, topic)
        assert service.stop() == 0
    exactly_one(ids)


def test_a_commit_that_the_broker_does_not_answer_is_an_outage(spoiled: Stack) -> None:
    """It is given up in time for the next poll, and repeated; the control: the client waits on."""
    topic = make_topic()
    orders(30, topic)
    ours = member(topic, session_timeout_ms=45_000)

    def commit_without_bound() -> None:
        # The offsets of our own commit: the broker may take this one after a later one.
        after = {record.partition: record.offset + 1 for record in batch}
        with suppress(KafkaException):
            ours.consumer.commit(offsets=ours.at(after), asynchronous=False)

    def is_committed() -> bool:
        # A broker that was frozen for long is first fenced: it coordinates no group for a moment.
        with suppress(OutageError):
            ours.commit(batch)
            return True
        return False

    control = threading.Thread(target=commit_without_bound)
    with leaving(ours):
        batch = until(ours.gather, bool, 20, "no record came")
        with frozen(spoiled, "kafka"):
            started = time.monotonic()
            with pytest.raises(OutageError, match=r"offsets: .*Timed out"):
                ours.commit(batch)
            assert time.monotonic() - started < OFFSET_COMMIT_SECONDS + 1
            control.start()
            control.join(OFFSET_COMMIT_SECONDS + 1)
            assert control.is_alive()
        control.join(30)
        until(is_committed, bool, 30, "the repeated commit is not taken")


def test_a_broker_that_is_away_during_the_assignment_is_waited_for(spoiled: Stack) -> None:
    """The member that cannot ask where to begin asks again, and then reads every record."""
    topic = make_topic()
    orders(30, topic)
    ours = member(topic)
    find_start = ours.find_start
    asked: list[list[TopicPartition]] = []

    def ask(partitions: list[TopicPartition]) -> list[TopicPartition]:
        if not asked:
            spoiled.kill("kafka", Signals.SIGSTOP)
        asked.append(partitions)
        if len(asked) == 2:
            spoiled.kill("kafka", Signals.SIGCONT)
        return find_start(partitions)

    ours.find_start = ask  # type: ignore[method-assign]
    records = []

    def gather_all() -> bool:
        records.extend(ours.gather())
        return len(records) >= 30

    with leaving(ours):
        until(gather_all, bool, 30, "the records do not come")
    assert len(asked) >= 2


@pytest.mark.parametrize(
    ("how", "asks"), [("leave", False), ("close", True)], ids=["leave", "control: close"]
)
def test_a_member_that_gets_partitions_while_it_leaves_begins_nothing(
    spoiled: Stack, how: str, asks: bool
) -> None:
    """A client that closes gets no answer: it would ask where to begin until the process ends."""
    with leaving_member(spoiled, how, make_topic()) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE_SECONDS)
        process.kill()
        said = process.communicate()[1].splitlines()
    assert ("asks" in said, "has left" in said) == (asks, not asks), said


@contextmanager
def leaving_member(stack: Stack, *words: str) -> "Iterator[subprocess.Popen[str]]":
    """Run a member until it begins to leave; stop it after the block."""
    argv = [sys.executable, "-m", "tests.e2e.leaving_member", *words]
    with subprocess.Popen(argv, text=True, stdout=PIPE, stderr=PIPE, env=stack.env()) as process:
        out_of_patience = threading.Timer(40, process.kill)
        out_of_patience.start()
        try:
            assert process.stdout
            assert "leaves\n" in process.stdout, process.communicate()
            yield process
        finally:
            out_of_patience.cancel()
            process.kill()


class Watched:
    """A client whose pauses are counted."""

    def __init__(self, client: Consumer) -> None:
        self.client = client
        self.pauses = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.client, name)

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Count it."""
        self.pauses += 1
        self.client.pause(partitions)


@pytest.mark.parametrize(
    ("seconds_ago", "pauses"), [(0, 0), (ALIVE_SECONDS, 1)], ids=["now", "control: long ago"]
)
def test_a_sign_of_life_between_two_steps_stops_no_fetch(
    spoiled: Stack, seconds_ago: float, pauses: int
) -> None:
    """A client that was paused fetches nothing for up to a second: each assignment cost three."""
    topic = make_topic()
    orders(30, topic)
    ours = member(topic)
    watched = Watched(ours.consumer)
    ours.consumer = watched  # type: ignore[assignment]
    with leaving(ours):
        until(ours.gather, bool, 30, "no record comes")
        ours.last_poll -= seconds_ago
        ours.idle(MOMENT)
    assert watched.pauses == pauses


def stop_in_time(service: OwnService, seconds: float) -> None:
    """Ask it to stop, and expect its end within this time."""
    service.process.send_signal(Signals.SIGTERM)
    service.until_ended(seconds)


def test_a_service_stops_in_time_while_the_broker_does_not_answer(spoiled: Stack) -> None:
    """In the middle of a commit too; what was not committed comes again, and has one effect."""
    topic = make_topic()
    with own_service(spoiled, topic, BATCH_WINDOW_MS="2000", STOP_SECONDS="8") as service:
        service.until_logged('"event": "assigned"')
        ids = orders(30, topic)
        until(lambda: query(HANDLED, ids), bool, 20, "no order is handled")
        with frozen(spoiled, "kafka"):
            stop_in_time(service, 10)
    with own_service(spoiled, topic) as service:
        until_handled(30, topic, topic)
    exactly_one(ids)


@contextmanager
def unanswered(stack: Stack, how: str) -> "Iterator[subprocess.Popen[str]]":
    """Run a member that leaves while its commit has no answer, until it begins to leave."""
    topic = make_topic()
    orders(30, topic)
    broker = stack.supervisor.identity("kafka")
    assert broker, "no broker runs"
    try:
        with leaving_member(stack, how, topic, str(broker.pid)) as process:
            yield process
    finally:
        stack.kill("kafka", Signals.SIGCONT)


def test_a_commit_without_an_answer_does_not_hold_up_the_end(spoiled: Stack) -> None:
    """A process that ends, here with a sentence, does so at once; the control closes its client."""
    with unanswered(spoiled, "leave") as process:
        _, said = process.communicate(timeout=LEAVE_SECONDS)
        assert (process.returncode, "has left" in said.splitlines()) == (1, True), said
    with unanswered(spoiled, "close") as control, pytest.raises(subprocess.TimeoutExpired):
        control.wait(LEAVE_SECONDS)


def test_a_client_that_hangs_when_it_leaves_does_not_hold_up_the_end(spoiled: Stack) -> None:
    """Although it holds the interpreter's lock, the process ends; the control: without a bound."""
    topic = make_topic()
    bounded = ("tests.e2e.faulty_client", "bounded")
    unbounded = ("tests.e2e.faulty_client", "unbounded")
    with (
        own_service(spoiled, topic, bounded) as service,
        own_service(spoiled, topic, unbounded) as control,
    ):
        for each in (service, control):
            each.until_logged('"event": "assigned"')
        control.process.send_signal(Signals.SIGTERM)
        stop_in_time(service, LEAVE_SECONDS + 3)
        assert "Timeout" in service.log(), "it did not hang: this proved nothing"
        assert control.process.poll() is None


def test_the_lag_grows_in_an_outage(spoiled: Stack) -> None:
    """While Postgres is down and nothing is committed, the gauge counts what comes."""
    topic = make_topic(1)
    lag = 'lag_records{partition="0"}'
    with own_service(spoiled, topic) as service:
        service.until_logged('"event": "assigned"')
        until(lambda: service.metric(lag), lambda found: found == 0, 10, "no lag of 0")
        with away(spoiled, "postgres"):
            orders(40, topic)
            until(lambda: service.metric(lag), lambda found: found == 40, 15, "no lag of 40")
            orders(2, topic)
            until(lambda: service.metric(lag), lambda found: found == 42, 15, "no lag of 42")
            assert service.get("/livez") == (200, "ok\n")
        until(lambda: service.metric(lag), lambda found: found == 0, 30, "no lag of 0")


def test_readyz_tells_of_a_partition_that_stands_still(spoiled: Stack) -> None:
    """Records that wait, here for a transaction that is left open, are counted there and logged."""
    topic = make_topic(1)
    with own_service(spoiled, topic, STUCK_SECONDS="2") as service:
        service.until_logged('"event": "assigned"')
        own = {"transactional.id": fresh()} | {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]
        }
        producer = Producer(PRODUCER | own)
        producer.init_transactions(30)
        producer.begin_transaction()
        for n in range(3):
            producer.produce(topic, value(f"open-{n}"), "key", 0)
        assert producer.flush(30) == 0

        def ready() -> tuple[int, str]:
            return service.get("/readyz")

        found = until(ready, lambda answer: answer[0] == 503, 15, "it is ready")
        assert found[1].startswith(f"{topic}/0: 3 records wait, none handled for ")
        assert service.get("/livez") == (200, "ok\n"), "a restart is not due yet"
        service.until_logged('"event": "stuck"')
        producer.abort_transaction(30)
        until(ready, lambda answer: answer == (200, "ok\n"), 15, "it does not get ready")
        service.until_logged('"event": "moving_again"')


def test_two_processes_with_one_instance_id_are_told(spoiled: Stack) -> None:
    """The broker keeps one of them; the other ends with a sentence, and the work goes on."""
    topic = make_topic()
    with own_service(spoiled, topic, GROUP_INSTANCE_ID="one") as first:
        first.until_logged('"event": "assigned"')
        with own_service(spoiled, topic, GROUP_INSTANCE_ID="one") as second:
            sentence = first.sentence()
            assert sentence.startswith(
                "service: GROUP_INSTANCE_ID=one: another process has the same"
            )
            ids = orders(30, topic)
            until_handled(30, topic, topic)
            assert second.stop() == 0
    exactly_one(ids)


@pytest.mark.prove
def test_an_instance_that_is_back_in_time_keeps_its_partitions(spoiled: Stack) -> None:
    """With GROUP_INSTANCE_ID a restart costs no rebalance; the control: without, it costs one."""
    assert rebalances_of_a_restart(spoiled, GROUP_INSTANCE_ID="it") == 0
    assert rebalances_of_a_restart(spoiled) > 0


def rebalances_of_a_restart(stack: Stack, **settings: str) -> int:
    """Return how often another member is given partitions while a service is restarted."""
    topic = make_topic()
    assigned = '"event": "assigned"'
    given = re.compile(r'"partitions": \[\d.*"assigned"')
    with own_service(stack, topic) as other:
        other.until_logged('"partitions": [0, 1, 2], "event": "assigned"')
        with own_service(stack, topic, **settings) as service:
            service.until_logged(assigned)
            other.until_logged('"event": "revoked"')
            before = len(given.findall(other.log()))
            service.stop()
        with own_service(stack, topic, **settings) as service:
            service.until_logged(assigned)
            return len(given.findall(other.log())) - before


@pytest.mark.parametrize("database", ["ours", "older"])
def test_lost_offsets_are_no_first_start(spoiled: Stack, database: str) -> None:
    """A group that was deleted stops with a sentence, and goes on when the loss is accepted.

    A database that does not know yet what was begun has tracking rows that tell it.
    """
    topic = make_topic()
    ids = orders(30, topic)
    handle_all(spoiled, topic)
    assert run_offsets(spoiled, topic).returncode == 0
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    admin.delete_consumer_groups([topic])[topic].result(30)
    if database == "older":
        forget_begun(topic)
    with own_service(spoiled, topic) as service:
        sentence = service.sentence()
    assert sentence.startswith(f"service: group {topic} has no offset in {topic}/0, {topic}/1, ")
    assert set(committed(topic, topic).values()) == {0}

    looked = run_offsets(spoiled, topic)
    assert looked.returncode == 1, looked.stderr
    assert looked.stdout.count("its offset is lost") == 3
    accepted = run_offsets(spoiled, topic, "--accept-loss", "--json")
    assert accepted.returncode == 0, accepted.stderr
    assert [place["accepted"] for place in json.loads(accepted.stdout)] == [True] * 3
    ids += orders(30, topic)
    handle_all(spoiled, topic)
    exactly_one(ids)


def forget_begun(topic: str) -> None:
    """Leave the database as an older version has it."""
    with connect(role="postgres") as admin:
        admin.execute("delete from input_partition where group_id = %s", [topic])
        admin.execute("delete from input_topic where topic = %s", [topic])


def test_a_topic_that_is_created_again_is_another_one(spoiled: Stack) -> None:
    """It stops the service, although its offsets go beyond the old ones; then nothing is swallowed.

    Dead letters at the same offset of both topics have rows and events of their own: the first as
    ever, the second with the id of its topic.
    """
    topic = make_topic()
    bad = Sent("bad", "bad", b"{")
    [(partition, _)] = send([bad], topic)
    ids = orders(10, topic)
    handle_all(spoiled, topic)
    make_again(topic)
    send([bad], topic)
    more = orders(30, topic)
    with own_service(spoiled, topic) as service:
        sentence = service.sentence()
    assert sentence.startswith(f"service: {topic} was deleted and created again: its id is ")
    assert query(HANDLED, more) == []

    accepted = run_offsets(spoiled, topic, "--accept-loss")
    assert accepted.returncode == 0, accepted.stderr
    handle_all(spoiled, topic)
    exactly_one([*ids, *more])
    [(topic_id,)] = query(
        "select topic_id from input_topic where name = %s || '@' || topic_id", topic
    )
    keys = """
        select aggregate_id
        from outbox
        where event_type = 'record-dead-lettered' and aggregate_id like %s
        order by 1
    """
    place = f"{partition}/0"
    assert query(keys, f"{topic}%") == [(f"{topic}/{place}",), (f"{topic}@{topic_id}/{place}",)]
    names = query("select topic from dead_letter where topic like %s", f"{topic}%")
    assert sorted(names) == [(topic,), (f"{topic}@{topic_id}",)]


def test_a_topic_that_is_created_again_under_a_running_service_stops_it(spoiled: Stack) -> None:
    """No record of the new topic is handled as one of the old, however many there are.

    What the client notices first is its own affair; the next start names what has happened.
    """
    topic = make_topic()
    with own_service(spoiled, topic) as service:
        orders(3, topic)
        until_handled(30, topic, topic)
        make_again(topic)
        more = orders(30, topic)
        sentence = service.sentence(60)
    assert re.search("created again|no such topic|are gone", sentence), sentence
    assert query(HANDLED, more) == []
    with own_service(spoiled, topic) as service:
        assert "was deleted and created again" in service.sentence()
