"""The aggregator on real Postgres: whatever crashes or comes twice, each total is right, once."""

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, text

from extras.aggregator.handler import Steps
from extras.aggregator.tests.batches import (
    COMPLETE,
    Aggregator,
    Log,
    expected,
    finish,
    in_order,
    item,
    published,
)
from ops.stack.stack import Stack
from service.outage import OutageError
from service.record import Record
from tests.client import connect, fresh, query

STEPS = Steps._fields


def test_a_batch_has_one_total(aggregator: Aggregator) -> None:
    """Items are summed exactly, and the completion publishes them under the first one's place."""
    first = aggregator.log.send_batch("b", [3, 4, 5])
    aggregator.consume()
    total = {"batch_id": "b", "begin": first.place, "items": 3, "units": 12, "amount": "12.30"}
    assert aggregator.totals() == [total]
    assert aggregator.left_open() == []


def test_interleaved_batches_each_have_their_total(aggregator: Aggregator) -> None:
    """The keys come mixed; nothing of one is summed into another."""
    for n in range(20):
        aggregator.log.send(f"b{n % 5}", item(n))
    for n in range(5):
        aggregator.log.send(f"b{n}", COMPLETE)
    finish(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [30, 34, 38, 42, 46]


def test_a_second_batch_of_the_same_key_is_a_new_group(aggregator: Aggregator) -> None:
    """After a completion, in the same batch or a later one, the next item begins a new group."""
    for units in ([1, 2], [4], [8, 16, 32]):
        aggregator.log.send_batch("b", units)
    finish(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [3, 4, 56]


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_a_message_that_comes_again_is_not_summed_again(aggregator: Aggregator, batch: int) -> None:
    """The same message again: in one batch, in a later one, after its group is closed."""
    aggregator.batch = batch
    log = aggregator.log
    log.send("b", item(1), f"{log.topic}-one")
    log.send("b", item(1), f"{log.topic}-one")
    log.send("b", item(2))
    log.send("b", item(1), f"{log.topic}-one")
    log.send("b", COMPLETE, f"{log.topic}-end")
    log.send("b", COMPLETE, f"{log.topic}-end")
    log.send("b", item(1), f"{log.topic}-one")
    finish(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [3]
    assert aggregator.left_open() == []
    assert aggregator.letters() == []


def test_poison_in_the_middle_is_buried_and_the_group_goes_on(aggregator: Aggregator) -> None:
    """No JSON, a conflict, a completion of nothing: dead letters, each with its reason."""
    log = aggregator.log
    log.send("b", item(1), f"{log.topic}-one")
    bad = log.send("b", b"{")
    log.send("b", item(2))
    conflict = log.send("b", item(7), f"{log.topic}-one")
    stray = log.send("c", COMPLETE)
    log.send("b", COMPLETE)
    aggregator.consume()
    assert [total["units"] for total in aggregator.totals()] == [3]
    assert [(offset, kind) for offset, kind, _ in aggregator.letters()] == [
        (bad.offset, "invalid"),
        (conflict.offset, "conflict"),
        (stray.offset, "invalid"),
    ]
    told = "select payload->>'value' from outbox where aggregate_id = %s"
    assert query(told, f"{log.topic}/0/{bad.offset}") == [("ew==",)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("k", range(1, 8))
def test_a_crash_after_k_messages_then_a_replay_gives_the_same_totals(
    aggregator: Aggregator, k: int, step: str
) -> None:
    """Memory lost after k of n messages, before any step: one right total for each group."""
    log = aggregator.log
    for n in range(6):
        log.send(f"b{n % 2}", item(2**n))
    aggregator.batch = 3
    aggregator.consume(min(k, 6))
    log.send("b0", COMPLETE)
    log.send("b1", COMPLETE)
    aggregator.crash_before(step)
    finish(aggregator)
    assert aggregator.left_open() == []


def publish_and_crash(aggregator: Aggregator) -> None:
    """A group is closed and its total published, but its last offsets are not committed."""
    log = aggregator.log
    for n in range(4):
        log.send("b", item(2**n))
    aggregator.consume()
    log.send("b", item(16))
    log.send("b", COMPLETE)
    aggregator.crash_before("commit")


def test_a_crash_after_the_publication_leaves_one_total(aggregator: Aggregator) -> None:
    """When the second half of a closed group comes again, it begins nothing."""
    publish_and_crash(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [31]
    finish(aggregator)
    assert aggregator.left_open() == []


def test_control_without_positions_a_crash_after_the_publication_gives_a_second_total(
    aggregator: Aggregator,
) -> None:
    """If redelivered records were not skipped, the same crash would publish a partial total."""
    publish_and_crash(aggregator)
    log = aggregator.log
    forget = text('update batch_position set "offset" = :offset where topic = :topic')
    with aggregator.engine.connect() as connection:
        connection.execute(
            forget, {"offset": log.records[aggregator.at].offset, "topic": log.topic}
        )
    aggregator.consume()
    assert [total["units"] for total in aggregator.totals()] == [31, 16]


def test_a_replay_at_the_end_of_the_partition_leaves_the_group_open(aggregator: Aggregator) -> None:
    """Before the completion a replay ends where the live consumer is; later there is one total."""
    log = aggregator.log
    for n in range(5):
        log.send("b", item(2**n))
    aggregator.consume()
    aggregator.crash()
    aggregator.replay(too_long=0)
    assert (aggregator.totals(), aggregator.left_open()) == ([], ["b"])
    log.send("b", item(32))
    log.send("b", COMPLETE)
    aggregator.consume()
    assert (aggregator.totals(), aggregator.left_open()) == (
        [],
        ["b"],
    )  # its beginning was missed: nothing partial
    finish(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [63]


def test_a_partition_that_cannot_be_read_does_not_hold_up_the_others(
    aggregator: Aggregator,
) -> None:
    """Of two partitions with overdue groups one does not answer: the other has its total."""
    topic = aggregator.log.topic
    others = [aggregator, Aggregator(aggregator.engine, Log(topic, partition=1))]
    for one in others:
        one.log.send("b", item(1), f"{topic}-{one.log.partition}")
        one.consume()
        one.crash()
        one.log.send("b", COMPLETE, f"{topic}-{one.log.partition}-end")
        one.consume()

    def read_between(place: Any, start: int, stop: int) -> Iterator[list[Record]]:
        if place[1] == 0:
            raise OutageError("nothing came within 10 s")
        return others[1].log.read_between(place, start, stop)

    aggregator.replay(read_between)
    assert [total["begin"]["partition"] for total in aggregator.totals()] == [1]
    aggregator.replay()
    assert [total["begin"]["partition"] for total in aggregator.totals()] == [0, 1]


def ahead_of_the_live_consumer(aggregator: Aggregator) -> None:
    """An open group that the live consumer holds; beyond its position a copy and the completion."""
    log = aggregator.log
    log.send("b", item(1))
    aggregator.consume()
    log.send("b", item(2), f"{log.topic}-two")
    log.send("b", item(2), f"{log.topic}-two")
    log.send("b", COMPLETE)


def test_a_replay_does_not_pass_the_live_consumer(aggregator: Aggregator) -> None:
    """A replay reads nothing that the live consumer has not reached, and the total is right."""
    ahead_of_the_live_consumer(aggregator)
    aggregator.replay(too_long=0)
    assert (aggregator.totals(), aggregator.left_open()) == ([], ["b"])
    finish(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [3]


def test_control_a_replay_that_passes_the_live_consumer_sums_a_copy(aggregator: Aggregator) -> None:
    """Beyond that position nobody knows yet what is a copy: read to the end, the total is wrong."""
    ahead_of_the_live_consumer(aggregator)
    aggregator.replay(
        lambda place, start, _stop: aggregator.log.read_between(place, start, 10**9), too_long=0
    )
    aggregator.consume()
    assert [total["units"] for total in aggregator.totals()] == [5]


def test_a_missed_group_does_not_hold_up_the_next_of_its_key(aggregator: Aggregator) -> None:
    """Two crashes, three groups of one key: each waits for its own replay, and none is mixed."""
    log = aggregator.log
    for units in ([1, 2], [4, 8], [16, 32]):
        log.send("b", item(units[0]))
        aggregator.consume()
        aggregator.crash()
        log.send("b", item(units[1]))
        log.send("b", COMPLETE)
        aggregator.consume()
    assert aggregator.left_open() == ["b", "b", "b"]
    finish(aggregator)
    assert [total["units"] for total in aggregator.totals()] == [3, 12, 48]


def test_records_that_are_gone_are_told_as_unrecoverable(aggregator: Aggregator) -> None:
    """A missed group whose beginning is deleted: one event says so, and the next group is right."""
    log = aggregator.log
    first = log.send("b", item(1))
    log.send("b", item(2))
    aggregator.consume()
    aggregator.crash()
    log.send("b", COMPLETE)
    log.send_batch("b", [4])
    aggregator.consume()
    beheaded = Log(log.topic, log.records[1:])
    aggregator.replay(beheaded.read_between)
    aggregator.replay(beheaded.read_between)
    [gone] = published(log.topic, "batch-unrecoverable")
    assert gone == {"batch_id": "b", "begin": first.place, "reason": "records_gone"}
    assert [total["units"] for total in aggregator.totals()] == [4]
    assert aggregator.left_open() == []


def test_an_open_group_whose_beginning_is_gone_stays_until_it_is_complete(
    aggregator: Aggregator,
) -> None:
    """It is reported only once it is complete and was missed: somebody may still hold its sums."""
    log = aggregator.log
    log.send("b", item(1))
    aggregator.consume()
    beheaded = Log(log.topic, [])
    aggregator.replay(beheaded.read_between, too_long=0)
    assert aggregator.left_open() == ["b"]
    aggregator.crash()
    log.send("b", item(2))
    aggregator.consume()
    aggregator.replay(beheaded.read_between, too_long=0)
    assert (aggregator.left_open(), published(log.topic, "batch-unrecoverable")) == (["b"], [])
    log.send("b", COMPLETE)
    aggregator.consume()
    aggregator.replay(beheaded.read_between)
    assert (aggregator.left_open(), aggregator.totals()) == ([], [])
    assert len(published(log.topic, "batch-unrecoverable")) == 1


def test_two_instances_on_one_partition_publish_once(aggregator: Aggregator) -> None:
    """One stalls with a batch, the other closes the group: the late write changes nothing."""
    log, other = aggregator.log, Aggregator(aggregator.engine, aggregator.log)
    log.send_batch("b", [1, 2, 4])

    def stall(*arguments: Any) -> None:
        other.consume()
        late.broken = {}
        late.steps().write(*arguments)

    late = aggregator
    late.broken = {"write": stall}
    late.consume()
    assert [total["units"] for total in aggregator.totals()] == [7]
    log.send_batch("b", [8])
    late.consume()
    other.consume()
    finish(other)


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        ("app", "delete from batch_position"),
        ("app", "update open_batch set batch_id = 'x'"),
        ("app", "truncate open_batch"),
        ("reconciler", "delete from open_batch"),
        ("cdc", "select * from open_batch"),
    ],
)
def test_a_role_may_not(spoiled: Stack, role: str, statement: str) -> None:
    """A group's row can be begun, completed and taken away, and only by the app; nothing else."""
    with connect(role=role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_whatever_happens_in_whatever_sequence_the_totals_are_right(engine: Engine) -> None:
    """Random records, crashes before any step, takeovers and replays: one right total each."""
    for seed in range(25):
        chance = random.Random(seed)  # noqa: S311 - not cryptography
        log = Log(fresh(f"any-{seed}"))
        instances = [Aggregator(engine, log, batch=chance.randint(1, 7)) for _ in range(2)]
        for _ in range(60):
            send_something(log, chance)
            one = chance.choice(instances)
            one.committed = max(other.committed for other in instances)
            match chance.randint(0, 7):
                case 0:
                    one.crash_before(chance.choice(STEPS))
                case 1:
                    one.crash()
                case 2:
                    one.replay(too_long=chance.choice([0, 180]))
                case 3 | 4:
                    one.at = max(one.at, one.committed)
                    one.consume()
        one.committed = max(other.committed for other in instances)
        one.crash()
        one.consume()
        one.replay()
        assert one.totals() == in_order(expected(log.records)), f"seed {seed}"
        assert len({str(total["begin"]) for total in one.totals()}) == len(one.totals())


def send_something(log: Log, chance: random.Random) -> None:
    """Return an item, a copy of an earlier message, a completion or poison."""
    key = f"b{chance.randint(0, 3)}"
    what = chance.random()
    if what < 0.15 and log.records:
        copy = chance.choice(log.records)
        log.send(
            (copy.key or b"").decode(), copy.value, copy.header_values("message_id")[0].decode()
        )
    else:
        log.send(
            key,
            item(chance.randint(0, 9), f"0.{chance.randint(0, 99):02}") if what < 0.7 else COMPLETE,
        )
        if what > 0.95:
            log.send(key, b"poison")
