"""The dedup store on DynamoDB, on real parts: leases, tokens, thieves and zombies; and the holes of the plain form."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psutil
import pytest

from lab.dedup_matrix.anomalies import (
    crash_after_effect,
    crash_before_effect,
    repeated,
    slow_worker,
    two_workers,
)
from lab.dedup_matrix.effect import Moments, effects, go_on
from lab.dedup_matrix.effect import write as bare
from lab.dedup_matrix.place import in_stack
from lab.dedup_matrix.plain_dynamodb import Plain
from lab.dedup_matrix.stores import Place, Store
from lab.dedup_matrix.trial import CrashError, Trial, Verdict, crash
from ops.forget import forget as forget_fence
from ops.stack.stack import Stack
from service.dedup import DedupStore, Write
from service.handler import split_conflicts
from service.outage import OutageError
from service.write import write
from tests.builders import record, value
from tests.client import counts, fresh

dynamodb: Any = pytest.importorskip("extras.dynamodb.store")  # it may be deleted
LEASE_SECONDS = 0.5
TABLE = "dedup"
UNFENCED = """
    fresh as (
        select message_id from item join json_each_text(cast(:tokens as json)) as claimed (message_id, token)
        using (message_id) where cast(:done as boolean)
    )
"""


@pytest.fixture
def place(spoiled: Stack) -> Iterator[Place]:
    """The databases of a stack whose data nobody needs, with a fence."""
    with in_stack(spoiled) as found:
        yield found


@pytest.fixture
def client(spoiled: Stack) -> Any:
    """The service's own way to DynamoDB."""
    return dynamodb.connect(dynamodb.Settings())


def column(make: Callable[[Place, str, str, Write], DedupStore]) -> Store:
    """A store as a trial wants it."""
    return Store("", "", make, lose=lambda *_: None, forget=lambda *_: None, size=lambda _: 0)


def leases(client: Any, **changed: Any) -> Store:
    """The store of the service, with a lease that tests can wait for."""

    def make(_place: Place, subscriber: str, worker: str, write: Write) -> DedupStore:
        settings = dynamodb.Settings(subscriber=subscriber, dynamodb_lease_seconds=LEASE_SECONDS)
        store: DedupStore = dynamodb.Leases(write, client, settings, **{"owner": worker} | changed)
        return store

    return column(make)


def plain(client: Any, **changed: Any) -> Store:
    """The control."""
    return column(
        lambda _place, subscriber, _worker, write: Plain(
            write, client, TABLE, subscriber, **changed
        )
    )


SCENES = [repeated, crash_after_effect, crash_before_effect, two_workers, slow_worker]


@pytest.mark.parametrize("happen", SCENES, ids=lambda scene: scene.__name__)
def test_a_lease_lets_every_message_have_one_effect(
    place: Place, client: Any, happen: Callable[[Trial], None]
) -> None:
    """Serial repeats, crashes on both sides of the effect, two owners at once, a lease that ends in mid-work."""
    trial = Trial(place, leases(client))
    happen(trial)
    assert trial.verdict() == Verdict(doubled=0, lost=0)


@pytest.mark.parametrize(
    ("happen", "doubled"),
    [(repeated, 0), (crash_before_effect, 0), (crash_after_effect, 1), (two_workers, 2)],
)
def test_the_plain_form_doubles(
    place: Place, client: Any, happen: Callable[[Trial], None], doubled: int
) -> None:
    """The control: good in a row, and not where a crash or another worker comes between the effect and the put."""
    trial = Trial(place, plain(client))
    happen(trial)
    assert trial.verdict() == Verdict(doubled, lost=0)


@pytest.mark.parametrize(("again", "doubled"), [(True, 0), (False, 1)])
def test_a_second_look_helps_while_the_work_is_slow(
    place: Place, client: Any, again: bool, doubled: int
) -> None:
    """Another worker that is through before the second look is noticed; without it, the effect is doubled."""
    trial = Trial(place, plain(client))
    records = [trial.record("m-1", 1)]

    def work() -> None:
        trial.store = plain(client)
        trial.beside(records, until_done=True)()

    trial.store = plain(client, again=again, work=work)
    trial.handle(records)
    assert trial.verdict() == Verdict(doubled, lost=0)


@pytest.mark.parametrize("happen", [crash_after_effect, slow_worker])
def test_a_second_look_leaves_a_hole(
    place: Place, client: Any, happen: Callable[[Trial], None]
) -> None:
    """A crash after the emit, or another worker between the second look and the emit: doubled as before."""
    trial = Trial(place, plain(client, again=True))
    happen(trial)
    assert trial.verdict() == Verdict(doubled=1, lost=0)


def test_derived_ids_remove_what_the_plain_form_doubles(place: Place, client: Any) -> None:
    """Accept it and dedup downstream: written twice, a message has one event, because its event id is derived."""
    message_id, subscriber = fresh("m"), fresh("subscriber")
    [wave] = split_conflicts([record(message_id, value(fresh("o")))])
    firsts = 0
    for _ in range(2):  # a crash after the effect: claimed, and never settled
        firsts += (
            Plain(partial(write, place.engine, subscriber), client, TABLE, subscriber)
            .claim(wave)[message_id]
            .first
        )
    assert firsts == 2
    assert (
        counts([message_id])["outbox"][message_id]
        == counts([message_id])["fulfillment"][message_id]
        == 1
    )


class Scene:
    """One message, workers that hold what they took, and time as a number."""

    def __init__(self, place: Place, client: Any) -> None:
        self.place, self.client, self.subscriber, self.message_id = (
            place,
            client,
            fresh("subscriber"),
            fresh("m"),
        )
        [self.wave] = split_conflicts([record(self.message_id)])
        self.settings = dynamodb.Settings(
            subscriber=self.subscriber, dynamodb_lease_seconds=LEASE_SECONDS
        )
        self.now = 0.0

    def worker(self, moments: Moments | None = None, **changed: Any) -> Any:
        """Another owner."""
        to = partial(bare, self.place.engine, self.subscriber, moments or Moments())
        return dynamodb.Leases(to, self.client, self.settings, elapsed=lambda: self.now, **changed)

    def steal(self, thief: Any) -> None:
        """See a token, let the whole lease go by, and claim."""
        with pytest.raises(OutageError, match="another worker's hands"):
            thief.claim(self.wave)
        self.now += LEASE_SECONDS
        thief.claim(self.wave)

    def forget(self) -> None:
        """What DynamoDB does with an item that has expired."""
        self.client.delete_item(TableName=TABLE, Key={"id": f"{self.subscriber}#{self.message_id}"})

    def effects(self) -> int:
        """How many the message had."""
        return effects(self.place.engine, self.subscriber)[self.message_id]

    def item(self) -> dict[str, Any]:
        """What DynamoDB has of it."""
        key = {"id": f"{self.subscriber}#{self.message_id}"}
        found: dict[str, Any] = self.client.get_item(
            TableName=TABLE, Key=key, ConsistentRead=True
        ).get("Item", {})
        return found


@pytest.fixture
def scene(place: Place, client: Any) -> Scene:
    """A message of this test alone."""
    return Scene(place, client)


@pytest.mark.parametrize(("changed", "count"), [({}, 1), ({"fresh": UNFENCED}, 2)])
def test_a_zombie_that_writes_late_loses_at_the_fence(
    scene: Scene, changed: dict[str, Any], count: int
) -> None:
    """The lease ends in mid-work, a thief finishes, the zombie goes on; without the fence it is doubled."""
    thief = scene.worker(**changed)
    zombie = scene.worker(Moments(before=lambda: scene.steal(thief)), **changed)
    zombie.claim(scene.wave)
    thief.settle(scene.wave)
    zombie.settle(scene.wave)
    assert scene.effects() == count
    assert (scene.item()["owner"], scene.item()["done"]) == (thief.owner, True)


def test_a_zombie_loses_to_a_thief_that_has_yet_to_write(scene: Scene) -> None:
    """From the moment at which it is robbed its token is too low, though nobody has finished; the next one does."""
    moments = iter([go_on, crash])  # the thief comes twice: to put up its fence, and to work

    def at_the_second() -> None:
        next(moments)()

    thief = scene.worker(Moments(before=at_the_second))

    def rob() -> None:
        with pytest.raises(CrashError):
            scene.steal(thief)

    scene.worker(Moments(before=rob)).claim(scene.wave)
    assert scene.effects() == 0
    scene.steal(scene.worker())
    assert scene.effects() == 1


def test_a_thief_that_comes_after_a_finished_write_loses(scene: Scene) -> None:
    """The owner's effect is committed, and its settling lost: the thief finds the fence done, and settles."""
    scene.worker().claim(scene.wave)
    thief = scene.worker()
    scene.steal(thief)
    thief.settle(scene.wave)
    assert scene.effects() == 1
    assert scene.item()["done"]


def test_a_lease_is_stolen_only_after_it_stood_still_before_the_thief_s_eyes(scene: Scene) -> None:
    """A claim made long ago is new to who sees it first; one that its owner renews is never stolen."""
    owner, thief = scene.worker(), scene.worker()
    owner.claim(scene.wave)
    scene.now += 1000
    for _ in range(5):
        with pytest.raises(OutageError, match="another worker's hands"):
            thief.claim(scene.wave)
        owner.claim(scene.wave)
        scene.now += LEASE_SECONDS
    assert scene.item()["owner"] == owner.owner
    assert scene.effects() == 1


@pytest.mark.parametrize("hours", [-36, 0, 36])
def test_wall_clocks_hours_apart_steal_nothing(scene: Scene, hours: int) -> None:
    """Whatever a thief's clock says, it waits for the whole lease, and then has it."""
    owner, thief = scene.worker(clock=lambda: 1e9), scene.worker(clock=lambda: 1e9 + hours * 3600)
    owner.claim(scene.wave)
    for elapsed in (0, 0.9 * LEASE_SECONDS):
        scene.now = elapsed
        with pytest.raises(OutageError, match="another worker's hands"):
            thief.claim(scene.wave)
    scene.now = LEASE_SECONDS
    thief.claim(scene.wave)
    assert scene.item()["owner"] == thief.owner
    assert scene.effects() == 1


def test_two_owners_wait_for_each_other_and_steal_nothing(scene: Scene) -> None:
    """Who comes second is told to wait, and finds it done when the first has settled: one token was enough."""
    first, second = scene.worker(), scene.worker()
    first.claim(scene.wave)
    with pytest.raises(OutageError, match="another worker's hands"):
        second.claim(scene.wave)
    first.settle(scene.wave)
    known = second.claim(scene.wave)[scene.message_id]
    assert (known.first, known.audited) == (False, True)
    assert (scene.item()["owner"], scene.item()["fencing_token"]) == (first.owner, 1)


def test_a_live_claim_that_dynamodb_forgets_still_has_one_effect(scene: Scene) -> None:
    """The item is deleted while its owner works; another claims anew with the same token, and the fence decides."""
    other = scene.worker()

    def forget() -> None:
        scene.forget()
        other.claim(scene.wave)
        other.settle(scene.wave)

    owner = scene.worker(Moments(before=forget))
    assert not owner.claim(scene.wave)[scene.message_id].first
    owner.settle(scene.wave)
    assert scene.effects() == 1


def test_only_what_both_have_forgotten_is_fresh_again(scene: Scene, spoiled: Stack) -> None:
    """Retention of the fence alone doubles nothing, as DynamoDB still knows; once it has forgotten, too, it does."""
    env = spoiled.env() | {"SUBSCRIBER": scene.subscriber}
    counted = []
    for is_forgotten_there in (False, True):
        if is_forgotten_there:
            scene.forget()
        worker = scene.worker()
        worker.claim(scene.wave)
        worker.settle(scene.wave)
        counted.append(
            (forget_fence(env, "dynamodb", 0, 10, lambda _: None)["forgotten"], scene.effects())
        )
        scene.worker().claim(scene.wave)
        assert scene.effects() == counted[-1][1]
    assert counted == [(1, 1), (1, 2)]


def test_two_stores_that_race_for_one_batch_share_it(place: Place, client: Any) -> None:
    """Four workers with overlapping batches of 300: every message has one effect, and nobody waits for ever."""
    seed = 20261122
    print(f"seed {seed}")  # noqa: T201
    trial, chance = Trial(place, leases(client)), random.Random(seed)  # noqa: S311 - not cryptography
    records = [trial.record(f"m-{n}", n, f"o-{n}") for n in range(400)]
    batches = [chance.sample(records, 300) for _ in range(4)]
    with ThreadPoolExecutor(4) as workers:
        list(workers.map(trial.handle, batches))
    assert trial.verdict() == Verdict(doubled=0, lost=0)


def test_a_message_with_another_value_is_told(scene: Scene) -> None:
    """What came first is kept with the claim: the same id with another value is a conflict, not a repeat."""
    worker = scene.worker()
    first = worker.claim(scene.wave)
    worker.settle(scene.wave)
    [other] = split_conflicts([record(scene.message_id, value("another"))])
    assert (
        scene.worker().claim(other)[scene.message_id].value_sha256
        == first[scene.message_id].value_sha256
    )


def test_it_says_what_is_wrong_and_waits(scene: Scene) -> None:
    """No table, or nobody there: an outage, which names the setting."""
    for changed, said in (
        ({"dynamodb_table": "other"}, "python -m extras.dynamodb.store"),
        ({"dynamodb_url": "http://127.0.0.1:9"}, "DYNAMODB_URL"),
    ):
        settings = dynamodb.Settings(**changed)
        store = dynamodb.Leases(scene.worker().write, dynamodb.connect(settings), settings)
        with pytest.raises(OutageError, match=said):
            store.claim(scene.wave)


def test_dynamodb_local_listens_to_this_machine_alone(spoiled: Stack) -> None:
    """By itself it would listen on every address."""
    port = spoiled.settings.extras["DYNAMODB_PORT"]
    listening = [c.laddr for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr]
    assert {place.ip.removeprefix("::ffff:") for place in listening if place.port == port} == {
        "127.0.0.1"
    }
