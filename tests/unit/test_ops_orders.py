"""What the producer sends: repeatable, in an allowed sequence, and of every kind."""

import json
from collections import Counter

import pytest

from contract.events import REJECTED
from contract.names import INPUT_TOPIC
from contract.order import InvalidOrderError
from contract.samples import INVALID, Sample, every_sample, invalid
from ops.orders import make_records
from ops.produce import entry
from service.record import Headers, understand
from service.record import Record as Received

RECORDS = make_records(seed=1, run="r20261121-100000-000", count=2000)
KINDS = {sample.kind for sample in every_sample("s")}
REJECTIONS = {sample.kind for sample in every_sample("s") if sample.expected == REJECTED}


def received(record: Sample) -> Received:
    """The record as the service gets it."""
    headers: Headers = [*record.headers()]
    return Received(INPUT_TOPIC, 0, 0, record.order_id.encode(), record.value, headers)


def test_the_same_seed_gives_the_same_records() -> None:
    """The same seed gives the same orders; another seed gives others, another run other ids."""
    assert make_records(3, "r1", 200) == make_records(3, "r1", 200)
    assert make_records(4, "r1", 200) != make_records(3, "r1", 200)
    ids = {record.message_id for record in make_records(3, "r1", 200)} - {None}
    assert ids.isdisjoint({record.message_id for record in make_records(3, "r2", 200)})


def test_every_good_order_is_there_once_and_the_rest_comes_on_top() -> None:
    """`--orders` counts the good ones."""
    counts = Counter(record.kind for record in RECORDS)
    others = {"redelivery": 40, "invalid": 20, "conflict": 4} | dict.fromkeys(REJECTIONS, 10)
    assert counts == {"order": 2000} | others


@pytest.mark.parametrize("count", [1, 2, 17])
def test_even_a_few_orders_come_with_one_of_each_kind(count: int) -> None:
    """The smallest run shows every case."""
    assert {record.kind for record in make_records(1, "r", count)} == KINDS


def test_what_refers_to_an_order_comes_after_it_on_its_key() -> None:
    """Else a redelivery would be the first, and a conflict the original."""
    first = {record.order_id: n for n, record in enumerate(RECORDS) if record.kind == "order"}
    others = [(n, record) for n, record in enumerate(RECORDS) if record.kind != "order"]
    assert all(n > first[record.order_id] for n, record in others)


def test_each_kind_repeats_or_changes_just_what_its_name_says() -> None:
    """A redelivery has the same id and bytes, a conflict the same id alone, a rejection another."""
    first = {record.order_id: record for record in RECORDS if record.kind == "order"}
    for record in RECORDS:
        original = first[record.order_id]
        same_id = record.message_id == original.message_id
        same_value = record.value == original.value
        if record.kind in {"order", "redelivery"}:
            assert (same_id, same_value) == (True, True), record
        elif record.kind == "conflict":
            assert (same_id, same_value) == (True, False), record
        elif record.kind in REJECTIONS:
            assert not same_id, record


def test_good_records_are_understood_and_each_spoiled_one_is_not() -> None:
    """What the ledger expects is what the order contract says, for every way to spoil an order."""
    assert {record.kind for record in RECORDS if understood(record)} == KINDS - {"invalid"}
    good = RECORDS[0]
    assert [name for name in INVALID if understood(invalid(good, name))] == []


def understood(record: Sample) -> bool:
    """Whether the service takes it for a message."""
    try:
        understand(received(record))
    except InvalidOrderError:
        return False
    return True


def test_an_entry_of_the_ledger_is_json_with_every_field_of_it() -> None:
    """Reconcile reads these names, the topic is that of INPUT_TOPIC; a tombstone has no hash."""
    tombstone = invalid(RECORDS[0], "a tombstone")
    found = json.loads(json.dumps(entry(tombstone, "another.events", 2, 41)))
    assert found["value_sha256"] is None
    assert (found["partition"], found["offset"], found["topic"]) == (2, 41, "another.events")
    place = {"topic", "partition", "offset", "value_sha256"}
    assert set(found) == place | {"message_id", "order_id", "kind", "expected"}
