"""What a message of a batch is, and the rule of a batch; without any process."""

import functools
import random
from collections.abc import Sequence
from decimal import Decimal

import pytest

from contract.extras import manifests
from extras.aggregator.event import total_event
from extras.aggregator.group import Changes, FirstMessage, Group, PartitionState, drop_repeats, fold
from extras.aggregator.handler import Steps, handle
from extras.aggregator.message import Message, read
from extras.aggregator.names import INPUT_TOPIC, TOTAL_TOPIC
from extras.aggregator.replay import mark_replay
from extras.aggregator.settings import Settings
from extras.aggregator.tests.batches import COMPLETE, Log, expected, in_order, item
from service.record import DeadLetter, Record

NOTHING = PartitionState(0, {}, {})


def reason(
    value: bytes | None, key: bytes | None = b"b", ids: tuple[bytes, ...] = (b"m-1",)
) -> str:
    """Why this is no message of a batch."""
    found = read(
        Record(INPUT_TOPIC, 0, 0, key, value, [("message_id", message_id) for message_id in ids])
    )
    assert isinstance(found, DeadLetter), found
    return f"{found.kind}: {found.reason}"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "invalid: value: null (a tombstone)"),
        (b"{", "invalid: value: Expecting property name"),
        (b"\xff", "invalid: value: not UTF-8 at byte 0"),
        (b"[" * 60_000, "invalid: value: nested too deep"),
        (b"3", "invalid: value: Input should be a valid dictionary"),
        (b"{}", "invalid: units: Field required"),
        (b'{"units": 3}', "invalid: amount: Field required"),
        (b'{"units": "3", "amount": "1"}', "invalid: units: Input should be a valid integer"),
        (b'{"units": true, "amount": "1"}', "invalid: units: Input should be a valid integer"),
        (b'{"units": 3.0, "amount": "1"}', "invalid: units: Input should be a valid integer"),
        (
            b'{"units": -1, "amount": "1"}',
            "invalid: units: Input should be greater than or equal to 0",
        ),
        (b'{"units": 3, "amount": 12.10}', "invalid: amount: Input should be a valid string"),
        (
            b'{"units": 3, "amount": "12.100"}',
            "invalid: amount: has a character that may not stand there",
        ),
        (
            b'{"units": 3, "amount": "-1"}',
            "invalid: amount: has a character that may not stand there",
        ),
        (
            b'{"units": 3, "amount": "NaN"}',
            "invalid: amount: has a character that may not stand there",
        ),
        (
            b'{"units": 3, "units": 4, "amount": "1"}',
            "invalid: value: an object has the same key twice",
        ),
        (b'{"units": NaN, "amount": "1"}', "invalid: value: a number is beyond range"),
        (b'{"complete": false}', "invalid: complete: should be true"),
        (b'{"complete": 1}', "invalid: complete: should be true"),
        (
            b'{"complete": true, "units": 3}',
            "invalid: complete: must not come with units or amount",
        ),
        (
            b'{"units": 3, "amount": "1"}' + b" " * 65_536,
            "too_large: value: 65563 bytes, at most 65536",
        ),
    ],
)
def test_what_is_no_message_says_why(value: bytes | None, said: str) -> None:
    """A record that is neither item nor completion is a dead letter that names the field."""
    assert reason(value).startswith(said)


@pytest.mark.parametrize("key", [None, b"", b"x" * 65, b"\xff", b"a\0b", b"a\n"])
def test_a_message_without_a_readable_key_belongs_to_no_batch(key: bytes | None) -> None:
    """The key is the batch id: 1 to 64 printable characters."""
    assert reason(item(), key).startswith("invalid: key: should be 1 to 64 printable characters")


def test_a_message_has_one_id() -> None:
    """None, two, or one that nobody can read make a dead letter."""
    assert reason(item(), ids=()) == "invalid: headers.message_id: missing"
    assert reason(item(), ids=(b"1", b"2")) == "invalid: headers.message_id: given 2 times"
    assert reason(item(), ids=(b"\n",)).startswith("invalid: headers.message_id: should be 1 to 64")


def test_unknown_fields_are_left_out() -> None:
    """What may be added later does not stop what is here now."""
    found = read(
        Record(
            "t", 0, 0, b"b", b'{"units": 3, "amount": "12.1", "note": null}', [("message_id", b"m")]
        )
    )
    assert isinstance(found, Message)
    assert found.item == {"units": 3, "amount": "12.1"}


def test_key_and_value_make_the_content() -> None:
    """The same value under another key is another message: with the same id, a conflict."""
    one, other = (
        read(Record("t", 0, 0, key, item(), [("message_id", b"m")])) for key in (b"b", b"c")
    )
    assert isinstance(one, Message)
    assert isinstance(other, Message)
    assert one.sha256 != other.sha256


def messages(log: Log) -> list[Message]:
    """The records of a log that are messages."""
    return [found for found in map(read, log.records) if isinstance(found, Message)]


def test_amounts_are_exact() -> None:
    """Tenths that a float cannot hold, and sums beyond its digits."""
    log = Log("t")
    for amount in ["0.1", "0.2", "0.30", "99999999999999999.99", "99999999999999999", "7"]:
        log.send("b", item(1, amount))
    log.send("b", COMPLETE)
    [closed] = fold(NOTHING, messages(log), 0)[1].closed
    assert closed.amount == Decimal("200000000000000006.59")
    assert closed.total["amount"] == "200000000000000006.59"


def test_the_rule_does_not_depend_on_where_the_batches_end() -> None:
    """Interleaved groups close the same, folded at once or in parts of any size."""
    for seed in range(50):
        chance, log = random.Random(seed), Log("t")  # noqa: S311 - not cryptography
        for _ in range(40):
            log.send(
                f"b{chance.randint(0, 3)}",
                COMPLETE if chance.random() < 0.2 else item(chance.randint(0, 9)),
            )
        at, closed, size = NOTHING, list[Group](), chance.randint(1, 40)
        for n in range(0, 40, size):
            at, changes = fold(at, messages(log)[n : n + size], 0)
            closed += changes.closed
        assert in_order([group.total for group in closed]) == in_order(expected(log.records)), (
            f"seed {seed}"
        )


def test_a_missed_group_is_not_summed_and_not_closed() -> None:
    """Its messages change nothing, its completion is noted, and the next item begins another."""
    log = Log("t")
    for value in (item(1), COMPLETE, item(2)):
        log.send("b", value)
    missed = Group("b", "t", 0, 7)
    after, changes = fold(PartitionState(0, {}, {"b": missed}), messages(log), 103)
    assert (changes.closed, changes.completed) == ([], [(missed, 101)])
    assert [group.offset for group in changes.begun] == [102]
    assert (after.missed, after.position, after.open["b"].units) == ({}, 103, 2)


def test_what_comes_of_a_replayed_record_says_so() -> None:
    """The mark goes from the first record to the group and its event; id and body stay."""
    log = Log("t")
    for value in (item(1), COMPLETE):
        log.send("b", value)
    live = closed_of(log.records)
    again = closed_of([mark_replay(record) for record in log.records])
    events = [total_event(live), total_event(again)]
    assert [event.pop("replay") for event in events] == [False, True]
    assert events[0] == events[1]


def closed_of(records: Sequence[Record]) -> Group:
    """Return the only group that these records close."""
    counted = [found for found in map(read, records) if isinstance(found, Message)]
    _, changes = fold(PartitionState(0, {}, {}), counted, 0)
    [group] = changes.closed
    return group


def test_the_same_group_is_the_same_event() -> None:
    """The id comes from the key and the beginning, and the body from the messages alone."""
    one = Group("b", "t", 0, 7)
    assert one.event_id == one._replace(items=3, units=9).event_id
    others = (
        one._replace(batch_id="c"),
        one._replace(topic="u"),
        one._replace(partition=1),
        one._replace(offset=8),
    )
    assert len({one.event_id, *(other.event_id for other in others)}) == 5


def test_who_came_first_counts() -> None:
    """A message counts where tracking has it; elsewhere it is a copy or a conflict."""
    log = Log("t")
    first = log.send("b", item(1), "m")
    copy = log.send("b", item(1), "m")
    conflict = log.send("b", item(2), "m")
    digest = messages(log)[0].sha256
    counted, conflicts = drop_repeats(messages(log), {"m": FirstMessage(digest, *first[:3])})
    assert [message.record for message in counted] == [first]
    assert [(letter.record, letter.kind) for letter in conflicts] == [(conflict, "conflict")]
    assert copy not in [letter.record for letter in conflicts]


def test_records_that_are_summed_already_are_skipped() -> None:
    """What Kafka delivers again below the position changes nothing; offsets are committed."""
    log = Log("t")
    log.send_batch("b", [1, 2])
    at = ("t", 0)
    calls: list[str] = []
    steps = Steps(
        load_states=lambda places: {place: PartitionState(103, {}, {}) for place in places},
        track=lambda _: calls.append("track") or {},  # type: ignore[func-returns-value]
        write=lambda _moves, _changes: calls.append("write"),
        commit=lambda _: calls.append("commit"),
    )
    states = {at: PartitionState(103, {}, {})}
    handle(log.records, steps, states)
    assert calls == ["commit"]
    assert states == {at: PartitionState(103, {}, {})}


def test_partitions_are_summed_apart() -> None:
    """The same key on two partitions is two groups, each with its own beginning."""
    records = [r._replace(partition=n) for n in (0, 1) for r in batch_of([1 + n, 2])]
    written: list[Changes] = []
    steps = Steps(
        load_states=lambda places: dict.fromkeys(places, NOTHING),
        track=lambda _: {},
        write=lambda _moves, changes: written.append(changes),
        commit=lambda _: None,
    )
    mixed = [record for pair in zip(records[:3], records[3:], strict=True) for record in pair]
    handle(mixed, steps, {})
    totals = [(group.partition, group.units) for changes in written for group in changes.closed]
    assert sorted(totals) == [(0, 3), (1, 4)]


def batch_of(units: list[int]) -> list[Record]:
    """A whole batch."""
    log = Log("t")
    log.send_batch("b", units)
    return log.records


def test_its_group_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What names the service's group, topic and port in the environment is not the aggregator's."""
    for name, value in {
        "GROUP_ID": "g",
        "INPUT_TOPIC": "t",
        "SUBSCRIBER": "s",
        "SERVICE_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    service = Settings().service()
    own = (service.group_id, service.subscriber, service.input_topic, service.service_port)
    assert own == ("aggregator", "aggregator", INPUT_TOPIC, 8082)


def test_its_topics_are_those_of_the_manifest() -> None:
    """What the service and the Spark part read and write is what the manifest has made."""
    assert manifests("topics")["aggregator"].keys() == {INPUT_TOPIC, TOTAL_TOPIC}


def test_changes_keep_their_sequence() -> None:
    """Put together, what came first stays first."""
    groups = [Group("b", "t", 0, n) for n in range(4)]
    parts = [Changes([group], [group], [(group, 9)], []) for group in groups]
    whole = functools.reduce(Changes.plus, parts)
    assert whole.begun == groups
    assert whole.closed == groups
    assert whole.completed == [(group, 9) for group in groups]
