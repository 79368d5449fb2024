"""A forced rebalance on the real broker: two workers get a record; the slow one goes on when the other is through."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ops.stack.stack import Stack
from ops.truth.anomalies import repeated
from ops.truth.columns import STORES
from ops.truth.effect import Moments
from ops.truth.place import in_stack
from ops.truth.plain_dynamodb import Plain
from ops.truth.rebalance import Slow, redeliver
from ops.truth.stores import Place, Store
from ops.truth.trial import Trial, Verdict
from service.dedup import DedupStore, Write
from service.record import Record
from tests.stores import apply_tables

dynamodb: Any = pytest.importorskip("service.dedup.dynamodb")  # it may be deleted
LEASE_SECONDS = 1  # the second worker waits for its end, and must still poll in time


@pytest.fixture
def place(spoiled: Stack) -> Iterator[Place]:
    """The stores of a stack whose data nobody needs, with a fence."""
    apply_tables(spoiled, "dynamodb")
    with in_stack(spoiled) as found:
        yield found


def leases(_place: Place, subscriber: str, worker: str, write: Write) -> DedupStore:
    """The service's store on DynamoDB."""
    settings = dynamodb.Settings(subscriber=subscriber, dynamodb_lease_seconds=LEASE_SECONDS)
    store: DedupStore = dynamodb.Leases(write, dynamodb.connect(settings), settings, worker)
    return store


def plain(_place: Place, subscriber: str, _worker: str, write: Write) -> DedupStore:
    """The form of the field."""
    return Plain(write, dynamodb.connect(dynamodb.Settings()), "dedup", subscriber)


def column(make: Callable[[Place, str, str, Write], DedupStore]) -> Store:
    """A store as a trial wants it."""
    return Store("", "", make, lose=lambda *_: None, forget=lambda *_: None, size=lambda _: 0)


@pytest.mark.parametrize(
    ("store", "effects"),
    [
        pytest.param(STORES["nothing"], 2, id="nothing"),
        pytest.param(column(plain), 2, id="plain dynamodb"),
        pytest.param(column(leases), 1, id="dynamodb"),
        pytest.param(STORES["tracking"], 1, id="tracking"),
    ],
)
def test_a_redelivery_after_a_forced_rebalance_has_one_effect(place: Place, store: Store, effects: int) -> None:
    """The first call is slow and the poll interval exceeded: two without dedup and in the plain form, one in ours."""
    trial = Trial(place, store)

    def handle(records: Sequence[Record], slow: Slow) -> None:
        trial.handle(records, Moments(before=slow))

    got = redeliver(place.bootstrap_servers, trial.record("m-1", 1), handle)
    assert len({record.offset for record in got}) == 1
    assert trial.verdict() == Verdict(doubled=effects - 1, lost=0)


def test_without_dedup_three_deliveries_have_three_effects(place: Place) -> None:
    """The control of all controls: nothing but a dedup store keeps the effect from happening each time."""
    trial = Trial(place, STORES["nothing"])
    repeated(trial)
    assert trial.verdict() == Verdict(doubled=2, lost=0)
