"""One transaction of DynamoDB for each record, and the two usual forms that are not one."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from extras.dynamodb.outbox.event import BURIED, TALLIED
from extras.dynamodb.outbox.transaction import Outcome, Part, Writer
from extras.dynamodb.tests.controlled import Controlled
from extras.dynamodb.tests.tallies import PRICE, Tables, Tally, order
from service.outage import OutageError
from service.record import Message, Record
from tests.builders import record

SEED = 20261125


class CrashError(Exception):
    """A worker has died."""


def writer(tables: Tables, client: Any = None) -> Writer:
    """Return a worker."""
    return Writer(client or tables.clients.tables, tables.settings)


def write_all(tables: Tables, *records: Record) -> list[Outcome]:
    """Write records one after the other, and return what has become of each."""
    return [writer(tables).write(each) for each in records]


def test_an_order_is_claimed_added_and_has_an_event(tables: Tables) -> None:
    """Claim, tally and event are there, and the event's key is the customer."""
    assert write_all(tables, order("m-1", "c-1")) == ["tallied"]
    assert tables.tally("c-1") == Tally(1, PRICE, {})
    [event] = tables.outbox()
    assert (event.aggregate_id, event.event_type) == ("c-1", TALLIED)
    assert tables.messages() == ["m-1"]


def test_the_same_message_again_changes_nothing(tables: Tables) -> None:
    """Three deliveries, one effect, one event."""
    assert write_all(tables, *[order("m-1")] * 3) == ["tallied", "repeat", "repeat"]
    assert tables.tally("c-1").orders == 1
    assert tables.messages() == ["m-1"]


def test_another_value_under_a_known_id_is_a_dead_letter(tables: Tables) -> None:
    """The first value counts; the other is buried once for its position, however often it comes."""
    other = order("m-1", "c-2")
    assert write_all(tables, order("m-1"), other, other) == ["tallied", "conflict", "conflict"]
    assert (tables.tally("c-1").orders, tables.tally("c-2").orders) == (1, 0)
    [letter] = [event for event in tables.outbox() if event.event_type == BURIED]
    assert '"kind":"conflict"' in letter.value
    assert letter.topic == tables.settings.tally_dead_letter_topic


@pytest.mark.parametrize("broken", [record("m-1", b"{"), record(None), record("m-1", None)])
def test_a_record_that_is_no_message_is_a_dead_letter(tables: Tables, broken: Record) -> None:
    """It is in the outbox with its bytes, once."""
    assert write_all(tables, broken, broken) == ["dead_letter", "dead_letter"]
    [letter] = tables.outbox()
    assert letter.event_type == BURIED
    assert letter.aggregate_id == f"{broken.topic}/{broken.partition}/{broken.offset}"


class LosesAnswers:
    """A client that does what it is asked, and then fails to say so."""

    def __init__(self, real: Any, times: int) -> None:
        self.exceptions = real.exceptions
        self.real = real
        self.times = times

    def transact_write_items(self, **request: Any) -> Any:
        """Write, and lose the answer."""
        answer = self.real.transact_write_items(**request)
        self.times -= 1
        if self.times >= 0:
            raise ReadTimeoutError(endpoint_url="DynamoDB")
        return answer


def test_a_lost_answer_is_an_outage_and_the_repetition_finds_the_claim(tables: Tables) -> None:
    """The effect happened and its answer was lost: the same again is a repeat."""
    worker = writer(tables, LosesAnswers(tables.clients.tables, times=1))
    with pytest.raises(OutageError, match="DYNAMODB_URL"):
        worker.write(order("m-1"))
    assert worker.write(order("m-1")) == "repeat"
    assert tables.tally("c-1").orders == 1


class Refuses:
    """A client to which DynamoDB says that it cannot do this now."""

    def __init__(self, real: Any, error: dict[str, Any]) -> None:
        self.exceptions = real.exceptions
        self.error = error

    def transact_write_items(self, **_: Any) -> Any:
        """Refuse."""
        code = self.error["Error"]["Code"]
        found = getattr(self.exceptions, code, ClientError)
        raise found(self.error, "TransactWriteItems")


@pytest.mark.parametrize(
    "error",
    [
        {"Error": {"Code": "ThrottlingException", "Message": "slow down"}},
        {
            "Error": {"Code": "TransactionCanceledException", "Message": ""},
            "CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}],
        },
        {
            "Error": {"Code": "TransactionCanceledException", "Message": ""},
            "CancellationReasons": [
                {"Code": "ConditionalCheckFailed"},
                {"Code": "ThrottlingError"},
            ],
        },
    ],
)
def test_throttling_and_conflicts_of_transactions_are_outages(
    tables: Tables, error: dict[str, Any]
) -> None:
    """None of them is taken for a repeat: they are repeated."""
    with pytest.raises(OutageError, match="DynamoDB"):
        writer(tables, Refuses(tables.clients.tables, error)).write(order("m-1"))


def persist(worker: Writer, each: Record) -> Outcome:
    """Write a record, however often another worker is in the way."""
    while True:
        try:
            return worker.write(each)
        except OutageError:
            continue


def test_workers_with_the_same_messages_have_one_effect_each(tables: Tables) -> None:
    """Four workers, two hundred orders of five customers, each order at each worker."""
    chance = random.Random(SEED)  # noqa: S311 - not cryptography
    orders = [order(f"m-{n}", f"c-{n % 5}") for n in range(200)]
    shuffled = [chance.sample(orders, len(orders)) for _ in range(4)]

    def work(records: list[Record]) -> list[Outcome]:
        worker = writer(tables)
        return [persist(worker, each) for each in records]

    with ThreadPoolExecutor(4) as workers:
        outcomes = [outcome for found in workers.map(work, shuffled) for outcome in found]
    assert outcomes.count("tallied") == len(orders)
    assert [tables.tally(f"c-{n}") for n in range(5)] == [Tally(40, 40 * PRICE, {})] * 5
    assert tables.messages() == sorted(f"m-{n}" for n in range(200))


# Where numbers decide.


@pytest.fixture
def numbered(dynamodb: Controlled) -> Tables:
    """Have tables for numbers, without claims."""
    return Tables(dynamodb.url, dynamodb_dedup="number")


def test_a_number_above_the_last_is_new_and_any_other_is_dropped(numbered: Tables) -> None:
    """Nine, ten, ten again and nine again: two effects, two events."""
    records = [order(f"m-{n}", sequence=n, source="shop") for n in (9, 10, 10, 9)]
    assert write_all(numbered, *records) == ["tallied", "tallied", "dropped", "dropped"]
    assert numbered.tally("c-1") == Tally(2, 2 * PRICE, {"shop": 10})
    assert numbered.messages() == ["m-10", "m-9"]


def test_each_source_has_numbers_of_its_own(numbered: Tables) -> None:
    """Two aggregates feed one customer; without a header there is one more."""
    records = [
        order("a", sequence=10, source="shop"),
        order("b", sequence=1, source="market"),
        order("c", sequence=1),
    ]
    assert write_all(numbered, *records) == ["tallied"] * 3
    assert numbered.tally("c-1").last == {"shop": 10, "market": 1, "": 1}


def test_a_source_may_be_called_anything(numbered: Tables) -> None:
    """Its name is a value for DynamoDB, never a part of an expression."""
    hostile = "#last = :number OR x.y[0]"
    assert write_all(numbered, order(sequence=1, source=hostile)) == ["tallied"]
    assert numbered.tally("c-1").last == {hostile: 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({}, "headers.sequence"), ({"sequence": 1, "source": "x" * 65}, "headers.source")],
)
def test_without_a_number_a_record_is_a_dead_letter(
    numbered: Tables, changes: dict[str, Any], reason: str
) -> None:
    """It says which header is missing or wrong."""
    assert write_all(numbered, order(**changes)) == ["dead_letter"]
    [letter] = numbered.outbox()
    assert f'"reason":"{reason}' in letter.value


def test_a_number_whose_answer_was_lost_is_not_counted_twice(numbered: Tables) -> None:
    """The repetition is dropped: one effect, one event."""
    worker = writer(numbered, LosesAnswers(numbered.clients.tables, times=1))
    first = order("m-1", sequence=1)
    with pytest.raises(OutageError):
        worker.write(first)
    assert worker.write(first) == "dropped"
    assert numbered.tally("c-1").orders == 1


class AsText(Writer):
    """The control: it compares numbers as text."""

    def add_numbered(self, message: Message) -> Part:
        """Give the number as text."""
        part = super().add_numbered(message)
        part["Update"]["ExpressionAttributeValues"][":number"] = str(message.sequence)
        return part


def test_control_numbers_that_are_compared_as_text_lose(numbered: Tables) -> None:
    """As text, ten is below nine: its order is lost."""
    worker = AsText(numbered.clients.tables, numbered.settings)
    records = [order(f"m-{n}", sequence=n) for n in (9, 10)]
    assert [worker.write(each) for each in records] == ["tallied", "dropped"]


# Crashes, beside the two usual forms: a request for each of claim, tally and event.

Step = Callable[[], object]


def steps_of(worker: Writer, message: Message) -> dict[str, Step]:
    """Return the three writes as requests of their own."""
    client = worker.client
    claim = worker.claim(message)["Put"]
    return {
        "claim": partial(client.put_item, **claim),
        "add": partial(client.update_item, **worker.add(message)["Update"]),
        "put": partial(client.put_item, **worker.put(worker.event(message))["Put"]),
    }


def write_in_turn(sequence: list[str], crash_before: int, worker: Writer, each: Record) -> None:
    """Look for the claim; then do one write after the other, until the worker dies."""
    message = worker.read(each)
    assert isinstance(message, Message)
    found = worker.client.get_item(
        TableName=worker.settings.tally_claim_table,
        Key={"message_id": message.message_id},
        ConsistentRead=True,
    )
    if "Item" in found:
        return
    steps = steps_of(worker, message)
    for number, name in enumerate(sequence):
        if number == crash_before:
            raise CrashError
        steps[name]()


PUT_LAST = ["add", "put", "claim"]
PUT_FIRST = ["claim", "add", "put"]
NEVER = 9


@pytest.mark.parametrize(
    ("sequence", "crash_before", "orders"),
    [
        (PUT_LAST, 0, 1),
        (PUT_LAST, 1, 2),  # added, and then once more
        (PUT_LAST, 2, 2),
        (PUT_FIRST, 0, 1),
        (PUT_FIRST, 1, 0),  # claimed, and never added
        (PUT_FIRST, 2, 1),
    ],
)
def test_control_without_the_transaction_a_crash_doubles_or_loses(
    tables: Tables, sequence: list[str], crash_before: int, orders: int
) -> None:
    """Put last doubles the effect, put first loses it."""
    worker = writer(tables)
    with pytest.raises(CrashError):
        write_in_turn(sequence, crash_before, worker, order("m-1"))
    write_in_turn(sequence, NEVER, worker, order("m-1"))
    assert tables.tally("c-1").orders == orders


def test_control_put_first_loses_the_event_behind_the_effect(tables: Tables) -> None:
    """Killed between tally and event, the order is added and nobody is told."""
    worker = writer(tables)
    with pytest.raises(CrashError):
        write_in_turn(PUT_FIRST, 2, worker, order("m-1"))
    write_in_turn(PUT_FIRST, NEVER, worker, order("m-1"))
    assert (tables.tally("c-1").orders, tables.messages()) == (1, [])


class Crashes:
    """A client with which a worker dies, before its transaction or behind it."""

    def __init__(self, real: Any, *, behind: bool) -> None:
        self.exceptions = real.exceptions
        self.real = real
        self.behind = behind

    def transact_write_items(self, **request: Any) -> Any:
        """Die."""
        if self.behind:
            self.real.transact_write_items(**request)
        raise CrashError


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("mode", ["claim", "number"])
def test_a_crash_on_either_side_of_the_transaction_leaves_one_effect_and_one_event(
    dynamodb: Controlled, mode: str, behind: bool
) -> None:
    """There are no other sides: what came before is there whole or not at all."""
    tables = Tables(dynamodb.url, dynamodb_dedup=mode)
    each = order("m-1", sequence=1)
    with pytest.raises(CrashError):
        writer(tables, Crashes(tables.clients.tables, behind=behind)).write(each)
    writer(tables).write(each)
    assert tables.tally("c-1").orders == 1
    assert tables.messages() == ["m-1"]


def test_totals_are_exact(tables: Tables) -> None:
    """Ten times ten cents is one, to the last digit."""
    lines = [{"sku": "tea", "quantity": 1, "unit_price": "0.10"}]
    write_all(tables, *[order(f"m-{n}", lines=lines) for n in range(10)])
    assert tables.tally("c-1").total == Decimal("1.00")
