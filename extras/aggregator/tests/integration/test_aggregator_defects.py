"""Seven defects of a much-copied aggregator: a control has each of them, and ours does not."""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine, text

from extras.aggregator.event import total_event
from extras.aggregator.group import Changes
from extras.aggregator.overdue import OverdueGroup, find_overdue
from extras.aggregator.replay import Replayed, keep_replaying, read_again, settle
from extras.aggregator.settings import Settings
from extras.aggregator.store import find_first
from extras.aggregator.tests.batches import (
    COMPLETE,
    Aggregator,
    CrashError,
    expected,
    finish,
    item,
    published,
)
from extras.aggregator.topic_reader import read_between
from extras.aggregator.write import BEGIN, CLOSE, MOVE, Move, execute
from ops.stack.stack import Stack
from service.outage import OutageError, Retry
from service.record import Record
from tests.client import Sent, connect, fresh, send, until

DELETE = text(
    'delete from open_batch where topic = :topic and partition = :partition and "offset" = :offset'
)


@contextmanager
def closed_outbox() -> Iterator[None]:
    """Nothing can be written to the outbox."""
    with connect(role="postgres") as admin, admin.transaction():
        admin.execute("lock table outbox in share mode")
        yield


def units(aggregator: Aggregator) -> list[int]:
    """What the totals say, in the sequence of their groups."""
    return [total["units"] for total in aggregator.totals()]


# 1. The row is deleted before the total is published.


def test_a_group_whose_total_cannot_be_published_keeps_its_row(aggregator: Aggregator) -> None:
    """While the outbox takes nothing the row stays too, and after a crash the total is there."""
    aggregator.log.send_batch("b", [1, 2])
    aggregator.log.send("c", item(4))
    aggregator.consume(1)
    with closed_outbox(), pytest.raises(OutageError):
        aggregator.consume()
    assert (aggregator.left_open(), units(aggregator)) == (["b"], [])
    aggregator.crash()
    finish(aggregator)
    assert units(aggregator) == [3]


def test_control_deleted_before_it_is_published_a_total_is_lost(aggregator: Aggregator) -> None:
    """With two transactions a crash between them leaves no row, no total and nothing to replay."""

    def write(moves: Sequence[Move], changes: Changes) -> None:
        with aggregator.engine.connect() as connection:
            execute(connection, MOVE, [move._asdict() for move in moves])
            for group in changes.begun:
                execute(connection, BEGIN, [{**group.begin, "batch_id": group.batch_id}])
            for group in changes.closed:
                connection.execute(DELETE, group.begin)
                raise CrashError

    aggregator.broken = {"write": write}
    aggregator.log.send_batch("b", [1, 2])
    with pytest.raises(CrashError):
        aggregator.consume()
    aggregator.crash()
    aggregator.consume()
    aggregator.replay(too_long=0)
    assert (aggregator.left_open(), units(aggregator)) == ([], [])


# 2. A replay stops at the first record of another key.


def interleaved_and_missed(aggregator: Aggregator) -> None:
    """Two batches mixed, their first half missed."""
    for n in range(6):
        aggregator.log.send(f"b{n % 2}", item(2**n))
        if n == 3:
            aggregator.consume()
            aggregator.crash()
    aggregator.log.send("b0", COMPLETE)
    aggregator.log.send("b1", COMPLETE)
    aggregator.consume()


def test_a_replay_of_interleaved_batches_reads_on_behind_the_other_keys(
    aggregator: Aggregator,
) -> None:
    """Each has all its items."""
    interleaved_and_missed(aggregator)
    finish(aggregator)
    assert units(aggregator) == [1 + 4 + 16, 2 + 8 + 32]


def test_control_stopped_at_the_first_foreign_key_no_group_is_whole(aggregator: Aggregator) -> None:
    """The same replay that reads only as far as the key stays the same takes both for lost."""

    def until_another(place: Any, start: int, stop: int) -> Iterator[list[Record]]:
        records = [r for some in aggregator.log.read_between(place, start, stop) for r in some]
        yield list(takewhile(lambda record: record.key == records[0].key, records))

    interleaved_and_missed(aggregator)
    aggregator.replay(until_another)
    assert units(aggregator) == []
    assert len(published(aggregator.log.topic, "batch-unrecoverable")) == 2


# 3. A replay at the end of the topic never returns.


@pytest.fixture
def topic(spoiled: Stack) -> str:
    """A real topic that holds five items of a batch, and no completion."""
    name, admin = (
        fresh("batch"),
        AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]}),
    )
    for made in admin.create_topics([NewTopic(name, 3, 1)]).values():
        made.result(30)
    send([Sent(f"{name}-{n}", "b", item(2**n)) for n in range(5)], name)
    return name


def partition_of(topic: str) -> int:
    """Return the place of the batch."""
    with Consumer(kafka()) as consumer:
        held = {
            n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=10) or (0, 0)
            for n in range(3)
        }
    [partition] = [n for n, (_, end) in held.items() if end == 5]
    return partition


def kafka() -> dict[str, str | int | bool]:
    """The aggregator's own settings of its consumer."""
    return Settings(aggregator_group_id="defects").service().kafka()


def test_a_replay_ends_at_the_end_of_the_partition(topic: str) -> None:
    """It reads up to where the live consumer is and no further, and joins no group."""
    place = (topic, partition_of(topic))
    found = [r for some in read_between(kafka(), lambda: False, place, 2, 5) for r in some]
    assert [record.offset for record in found] == [2, 3, 4]
    assert [
        r.offset for some in read_between(kafka(), lambda: False, place, 1, 3) for r in some
    ] == [1, 2]
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    assert not [
        g.group_id
        for g in admin.list_consumer_groups().result(10).valid
        if g.group_id.startswith("defects")
    ]


def test_a_replay_beyond_the_end_of_the_partition_is_put_off(topic: str) -> None:
    """A log that ends before the live consumer's position makes no group unrecoverable."""
    place = (topic, partition_of(topic))
    with pytest.raises(OutageError, match=r"ends at 5, but the live consumer is at 6"):
        list(read_between(kafka(), lambda: False, place, 0, 6))


def test_a_replay_begins_with_what_is_still_there(topic: str) -> None:
    """Records that retention has deleted are not waited for."""
    place = (topic, partition_of(topic))
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    for deleted in admin.delete_records([TopicPartition(*place, 4)]).values():
        deleted.result(30)
    assert [
        r.offset for some in read_between(kafka(), lambda: False, place, 0, 5) for r in some
    ] == [4]


def test_control_without_an_end_a_replay_waits_for_ever(topic: str) -> None:
    """It reads what is there, and then goes on asking as often as it is let."""
    with Consumer(kafka()) as consumer:
        consumer.assign([TopicPartition(topic, partition_of(topic), 0)])
        until(
            lambda: consumer.poll(1),
            lambda m: m is not None and m.offset() == 4,
            10,
            "not all five were read",
        )
        asked = [consumer.poll(0.02) for _ in range(100)]
    # That the partition has ended is told once, but not as a record.
    assert [m.offset() for m in asked if m is not None and m.error() is None] == []


# 4. Every instance replays the same row.


def missed(aggregator: Aggregator) -> None:
    """A complete batch whose beginning was missed."""
    aggregator.log.send("b", item(1))
    aggregator.consume()
    aggregator.crash()
    aggregator.log.send("b", item(2))
    aggregator.log.send("b", COMPLETE)
    aggregator.consume()


def test_two_instances_do_not_replay_the_same_group_at_once(aggregator: Aggregator) -> None:
    """While one reads, the other passes on without reading."""
    reads = []

    def read(place: Any, start: int, stop: int) -> Iterator[list[Record]]:
        reads.append(place)
        if len(reads) == 1:
            other = threading.Thread(target=aggregator.replay, args=[read])
            other.start()
            other.join(10)
        yield from aggregator.log.read_between(place, start, stop)

    missed(aggregator)
    aggregator.replay(read)
    assert len(reads) == 1
    assert units(aggregator) == [3]


def settle_twice(
    aggregator: Aggregator,
) -> list[tuple[Engine, Sequence[OverdueGroup], Replayed]]:
    """Two instances that have both read the same group again, and do not know of each other."""
    lookup = partial(find_first, aggregator.engine, aggregator.subscriber)
    rows = find_overdue(aggregator.engine, aggregator.log.topic, 180)
    return [
        (aggregator.engine, rows, read_again(aggregator.log.read_between, lookup, rows))
        for _ in range(2)
    ]


def test_a_group_that_two_instances_have_replayed_has_one_total(aggregator: Aggregator) -> None:
    """Who deletes the row publishes; the other one has nothing to say."""
    missed(aggregator)
    for settled in settle_twice(aggregator):
        settle(*settled)
    assert units(aggregator) == [3]


def test_control_published_without_asking_whose_it_is_a_group_has_two_totals(
    aggregator: Aggregator,
) -> None:
    """Two instances that publish what they have read, each under an id of its own."""
    insert = text("""
        insert into outbox
            (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
        values (:event_id, 'batch-total', :batch_id, 'batch-totalled', '-', cast(:total as json))
    """)
    missed(aggregator)
    for engine, _, replayed in settle_twice(aggregator):
        for group in replayed.closed.values():
            event = {
                "event_id": str(uuid4()),
                "batch_id": group.batch_id,
                "total": json.dumps(group.total),
            }
            with engine.connect() as connection:
                connection.execute(insert, event)
                connection.execute(DELETE, group.begin)
    assert units(aggregator) == [3, 3]


# 5. A pause between two messages makes a live group forget, and its replay races it.


def test_a_slow_group_is_looked_at_and_not_disturbed(aggregator: Aggregator) -> None:
    """Open for long, it is read in every pause; the live consumer holds and publishes it once."""
    for n in range(3):
        aggregator.log.send("b", item(2**n))
        aggregator.consume()
        aggregator.replay(too_long=0)
    aggregator.log.send("b", COMPLETE)
    aggregator.consume()
    assert units(aggregator) == [7]
    aggregator.replay(too_long=0)
    assert units(aggregator) == [7]


def test_control_a_group_that_is_forgotten_in_a_pause_is_published_in_part(
    aggregator: Aggregator,
) -> None:
    """With a consumer that discards what waits, the rest is taken for another group."""
    for n in range(3):
        aggregator.log.send("b", item(2**n))
        aggregator.consume()
        if n == 1:
            aggregator.states = {
                at: held._replace(open={}) for at, held in aggregator.states.items()
            }
    aggregator.log.send("b", COMPLETE)
    aggregator.consume()
    aggregator.replay(too_long=0)
    assert units(aggregator) == [7, 4]


# 6. Two rows of one key are impossible, and a second batch of it is dropped.


def test_a_second_batch_comes_while_the_first_waits_for_its_replay(aggregator: Aggregator) -> None:
    """Both have a row of their own, and both a total."""
    missed(aggregator)
    aggregator.log.send("b", item(4))
    aggregator.consume()
    assert aggregator.left_open() == ["b", "b"]
    aggregator.log.send("b", COMPLETE)
    finish(aggregator)
    assert units(aggregator) == [3, 4]


def test_control_with_one_row_for_each_key_the_second_batch_is_lost(aggregator: Aggregator) -> None:
    """The first group's row is in the way of the second, which then gets no total."""
    name = aggregator.log.topic.replace("-", "_")
    topic = aggregator.log.topic
    unique = f"create unique index {name} on open_batch (batch_id) where topic = '{topic}'"

    def write(moves: Sequence[Move], changes: Changes) -> None:
        with aggregator.engine.connect() as connection:
            execute(connection, MOVE, [move._asdict() for move in moves])
            for group in changes.begun:
                row = {**group.begin, "batch_id": group.batch_id}
                execute(connection, BEGIN, [row])
            execute(connection, CLOSE, [*map(total_event, changes.closed)])

    missed(aggregator)
    with connect(role="postgres") as admin:
        admin.execute(unique.encode())
        try:
            aggregator.broken = {"write": write}
            aggregator.log.send_batch("b", [4])
            aggregator.consume()
            aggregator.replay()
        finally:
            admin.execute(f"drop index {name}".encode())
    assert units(aggregator) == [3]
    assert [total["units"] for total in expected(aggregator.log.records)] == [3, 4]


# 7. Errors are handled nowhere, or swallowed.


def test_an_outage_is_waited_out_and_nothing_is_swallowed(aggregator: Aggregator) -> None:
    """The write fails twice, and then once more for another reason: the total is there, once."""
    failures = [OutageError("database: 57P01"), OutageError("database: no connection")]
    real = aggregator.steps().write

    def write(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        real(*arguments)

    aggregator.broken = {"write": Retry(lambda _: None, 0.01, 0.02).wrap("write", write)}
    aggregator.log.send_batch("b", [1, 2])
    aggregator.consume()
    assert (failures, units(aggregator)) == ([], [3])


def test_an_error_that_nobody_expects_ends_the_replayer(aggregator: Aggregator) -> None:
    """An outage is for the next look; a defect is not: the process must end, and say it."""
    errors: list[Exception] = [OutageError("database: 57P01"), ZeroDivisionError("a defect")]

    def once() -> None:
        raise errors.pop(0)

    with pytest.raises(ZeroDivisionError):
        keep_replaying(once, 0.01, threading.Event())
    assert errors == []


def test_control_an_error_that_is_swallowed_loses_the_total(aggregator: Aggregator) -> None:
    """A consumer that catches every error goes on, and the completion is lost with the outage."""

    def write(*_: Any) -> None:
        raise OutageError("database: 57P01")

    log = aggregator.log
    log.send_batch("b", [1, 2])
    aggregator.broken = {"write": write}
    try:
        aggregator.consume()
    except OutageError:
        aggregator.at = len(log.records)  # as if it had been handled
    aggregator.broken = {}
    log.send_batch("c", [4])
    aggregator.consume()
    aggregator.replay(too_long=0)
    assert [total["batch_id"] for total in aggregator.totals()] == ["c"]
