"""The dedup store on DynamoDB, on real servers: leases, tokens, thieves and zombies.

And the holes of the usual form. These tests need the lab's trials; those that do not are in
extras/dynamodb/tests.
"""

import random
from collections.abc import Callable
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
from lab.dedup_matrix.candidate import Backends, Candidate
from lab.dedup_matrix.effect import Moments, count_effects, go_on
from lab.dedup_matrix.effect import write as write_effect
from lab.dedup_matrix.story import CrashError, Story, crash
from lab.dedup_matrix.trial import Trial, Verdict
from ops.forget import forget as forget_fence
from ops.stack.stack import Stack
from service.dedup import DedupStore, Write
from service.handler import split_conflicts
from service.outage import OutageError
from service.write import NOTHING, RULE, write
from tests.builders import record, value
from tests.client import counts, fresh

dynamodb: Any = pytest.importorskip("extras.dynamodb.store")  # it may be deleted
PutLast: Any = pytest.importorskip("lab.dedup_matrix.dynamodb_stores").PutLast
LEASE_SECONDS = 0.5
TABLE = "dedup"
UNFENCED = """
    fresh as (
        select message_id
        from item
        join json_each_text(cast(:tokens as json)) as claimed (message_id, token)
            using (message_id)
        where cast(:done as boolean)
    )
"""


@pytest.fixture
def client(spoiled: Stack) -> Any:
    """The service's own way to DynamoDB."""
    return dynamodb.connect(dynamodb.Settings())


def candidate(make: Callable[[Backends, str, str, Write], DedupStore]) -> Candidate:
    """Return a store as a trial wants it; nothing of it is lost, forgotten or weighed."""
    return Candidate(
        title="",
        choose_it="",
        make=make,
        lose=lambda *_: None,
        forget=lambda *_: None,
        size=lambda _: 0,
    )


def leases(client: Any, **changed: Any) -> Candidate:
    """Return the store of the service, with a lease that tests can wait for."""

    def make(_backends: Backends, subscriber: str, worker: str, write: Write) -> DedupStore:
        settings = dynamodb.Settings(subscriber=subscriber, dynamodb_lease_seconds=LEASE_SECONDS)
        own = {"owner": worker} | changed
        store: DedupStore = dynamodb.Leases(write, client, settings, **own)
        return store

    return candidate(make)


def put_last(client: Any, **changed: Any) -> Candidate:
    """Return the control: the usual form."""

    def make(_backends: Backends, subscriber: str, _worker: str, write: Write) -> DedupStore:
        store: DedupStore = PutLast(write, client, TABLE, subscriber, **changed)
        return store

    return candidate(make)


SCENES = [repeated, crash_after_effect, crash_before_effect, two_workers, slow_worker]


@pytest.mark.parametrize("happen", SCENES, ids=lambda scene: scene.__name__)
def test_a_lease_lets_every_message_have_one_effect(
    backends: Backends, client: Any, happen: Callable[[Story], None]
) -> None:
    """Serial repeats, crashes before and after the effect, two owners, a lease that ends early."""
    trial = Trial(backends, leases(client))
    happen(trial)
    assert trial.verdict() == Verdict(doubled=0, lost=0)


@pytest.mark.parametrize(
    ("happen", "doubled"),
    [(repeated, 0), (crash_before_effect, 0), (crash_after_effect, 1), (two_workers, 2)],
)
def test_the_plain_form_doubles(
    backends: Backends, client: Any, happen: Callable[[Story], None], doubled: int
) -> None:
    """The control: good in a row, and not when something comes between the effect and the put."""
    trial = Trial(backends, put_last(client))
    happen(trial)
    assert trial.verdict() == Verdict(doubled, lost=0)


@pytest.mark.parametrize(("again", "doubled"), [(True, 0), (False, 1)])
def test_a_second_look_helps_while_the_work_is_slow(
    backends: Backends, client: Any, again: bool, doubled: int
) -> None:
    """Another worker that is done before the second look is noticed; without it, it doubles."""
    trial = Trial(backends, put_last(client))
    records = [trial.record("m-1", 1)]

    def work() -> None:
        trial.store = put_last(client)
        trial.run_other(records, until_done=True)()

    trial.store = put_last(client, again=again, work=work)
    trial.handle(records)
    assert trial.verdict() == Verdict(doubled, lost=0)


@pytest.mark.parametrize("happen", [crash_after_effect, slow_worker])
def test_a_second_look_leaves_a_hole(
    backends: Backends, client: Any, happen: Callable[[Story], None]
) -> None:
    """A crash after the effect, or another worker between second look and effect, doubles."""
    trial = Trial(backends, put_last(client, again=True))
    happen(trial)
    assert trial.verdict() == Verdict(doubled=1, lost=0)


def test_derived_ids_remove_what_the_plain_form_doubles(backends: Backends, client: Any) -> None:
    """A message that is written twice has one event, because its event id is derived.

    The business's own rows, which would know the message, are not asked.
    """
    message_id, subscriber = fresh("m"), fresh("subscriber")
    [wave] = split_conflicts([record(message_id, value(fresh("o")))])
    write_again = partial(write, backends.engine, subscriber, rule=RULE._replace(known=NOTHING))
    store = PutLast(write_again, client, TABLE, subscriber)
    for _ in range(2):  # a crash after the effect: claimed, and never settled
        assert store.claim(wave)[message_id].first
    found = counts([message_id])
    assert found["outbox"][message_id] == 1
    assert found["fulfillment"][message_id] == 1


class Scene:
    """One message, workers that hold what they took, and time as a number."""

    def __init__(self, backends: Backends, client: Any) -> None:
        self.backends = backends
        self.client = client
        self.subscriber = fresh("subscriber")
        self.message_id = fresh("m")
        [self.wave] = split_conflicts([record(self.message_id)])
        self.settings = dynamodb.Settings(
            subscriber=self.subscriber, dynamodb_lease_seconds=LEASE_SECONDS
        )
        self.now = 0.0

    def worker(self, moments: Moments | None = None, **changed: Any) -> Any:
        """Another owner."""
        to = partial(write_effect, self.backends.engine, self.subscriber, moments or Moments())
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
        return count_effects(self.backends.engine, self.subscriber)[self.message_id]

    def item(self) -> dict[str, Any]:
        """What DynamoDB has of it."""
        key = {"id": f"{self.subscriber}#{self.message_id}"}
        found: dict[str, Any] = self.client.get_item(
            TableName=TABLE, Key=key, ConsistentRead=True
        ).get("Item", {})
        return found


@pytest.fixture
def scene(backends: Backends, client: Any) -> Scene:
    """A message of this test alone."""
    return Scene(backends, client)


@pytest.mark.parametrize(("changed", "count"), [({}, 1), ({"fresh": UNFENCED}, 2)])
def test_a_zombie_that_writes_late_loses_at_the_fence(
    scene: Scene, changed: dict[str, Any], count: int
) -> None:
    """The lease ends, a thief finishes, the zombie goes on; without the fence it doubles."""
    thief = scene.worker(**changed)
    zombie = scene.worker(Moments(before=lambda: scene.steal(thief)), **changed)
    zombie.claim(scene.wave)
    thief.settle(scene.wave)
    zombie.settle(scene.wave)
    assert scene.effects() == count
    assert (scene.item()["owner"], scene.item()["done"]) == (thief.owner, True)


def test_a_zombie_loses_to_a_thief_that_has_yet_to_write(scene: Scene) -> None:
    """Once robbed, its token is too low, though nobody has finished; the next worker does."""
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
    """The owner's effect is committed, its settling lost: the thief finds it done, and settles."""
    scene.worker().claim(scene.wave)
    thief = scene.worker()
    scene.steal(thief)
    thief.settle(scene.wave)
    assert scene.effects() == 1
    assert scene.item()["done"]


def test_a_lease_is_stolen_only_after_it_stood_still_before_the_thief_s_eyes(scene: Scene) -> None:
    """An old claim is new to a worker that sees it first; a renewed one is never stolen."""
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
    """The second has to wait, and finds it done when the first has settled: one token is enough."""
    first, second = scene.worker(), scene.worker()
    first.claim(scene.wave)
    with pytest.raises(OutageError, match="another worker's hands"):
        second.claim(scene.wave)
    first.settle(scene.wave)
    known = second.claim(scene.wave)[scene.message_id]
    assert (known.first, known.audited) == (False, True)
    assert (scene.item()["owner"], scene.item()["fencing_token"]) == (first.owner, 1)


def test_a_live_claim_that_dynamodb_forgets_still_has_one_effect(scene: Scene) -> None:
    """The item is deleted while its owner works, and claimed again: the fence decides."""
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
    """Retention of the fence alone doubles nothing, because DynamoDB still knows the message."""
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


def test_two_stores_that_race_for_one_batch_share_it(backends: Backends, client: Any) -> None:
    """Four workers with overlapping batches of 300: one effect each, and nobody waits for ever."""
    seed = 20261122
    print(f"seed {seed}")
    trial = Trial(backends, leases(client))
    chance = random.Random(seed)  # noqa: S311 - not cryptography
    records = [trial.record(f"m-{n}", n, f"o-{n}") for n in range(400)]
    batches = [chance.sample(records, 300) for _ in range(4)]
    with ThreadPoolExecutor(4) as workers:
        list(workers.map(trial.handle, batches))
    assert trial.verdict() == Verdict(doubled=0, lost=0)


def test_a_message_with_another_value_is_reported(scene: Scene) -> None:
    """What came first is kept with the claim: another value is a conflict, not a repeat."""
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
