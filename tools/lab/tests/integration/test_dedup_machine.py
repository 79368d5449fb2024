"""Anything that may happen, in any order, on every dedup store: a state machine looks for a story that breaks one."""

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lab.dedup_matrix.columns import STORES
from lab.dedup_matrix.effect import Moments, effects
from lab.dedup_matrix.stores import Place, Store
from lab.dedup_matrix.trial import Trial, crash
from service.record import Record

STORIES = 1500 if os.environ.get("PROVE") else 150
ORDERS = st.sampled_from(["o-1", "o-2", "o-3"])
SOME = st.integers(min_value=1, max_value=4)
CRASHES: dict[str, list[Moments]] = {
    "crash_before_effect": [Moments(before=crash), Moments(inside=crash)],
    "crash_after_effect": [Moments(after=crash)],
}


class Machine(RuleBasedStateMachine):
    """One subscriber's life. Every message must have one effect, unless a law that the store breaks was tried on it."""

    place: ClassVar[Place]
    store: ClassVar[Store]

    def __init__(self) -> None:
        super().__init__()
        self.trial = Trial(self.place, self.store)
        self.sequence, self.moved, self.forgetful = 0, 0, False
        self.waiting: list[Record] = []  # sent, and no offset committed
        self.done: list[Record] = []
        self.tried: dict[str, set[str]] = defaultdict(set)  # by message

    def send_one(self, order: str, sequence: int) -> Record:
        """A new message; its key decides the partition."""
        partition = (int(order[-1]) + self.moved) % 4
        record = self.trial.record(f"m-{sequence}", sequence, order, partition)
        self.waiting.append(record)
        return record

    def note(self, records: list[Record], law: str) -> None:
        """Remember what was tried on these."""
        for record in records:
            self.tried[message_id(record)].add(law)

    @rule(order=ORDERS)
    def send(self, order: str) -> None:
        """The producer goes on."""
        self.sequence += 1
        self.send_one(order, self.sequence)

    @rule(order=ORDERS, other=ORDERS)
    def send_in_disorder(self, order: str, other: str) -> None:
        """A lower number comes after a higher one."""
        self.sequence += 2
        newer, older = self.send_one(order, self.sequence), self.send_one(other, self.sequence - 1)
        self.note([older], "older_after_newer" if order == other else "disorder")
        if newer.partition == older.partition:
            self.note([older], "disorder")

    @precondition(lambda self: self.waiting)
    @rule(count=SOME)
    def handle(self, count: int) -> None:
        """A worker takes a batch, and commits its offsets."""
        self.trial.handle(self.waiting[:count])
        self.commit(count)

    @precondition(lambda self: self.waiting)
    @rule(count=SOME, law=st.sampled_from(sorted(CRASHES)), which=st.integers(0, 1))
    def crash(self, count: int, law: str, which: int) -> None:
        """A worker takes a batch and dies over it: no offset is committed, all of it is delivered again."""
        self.note(self.waiting[:count], law)
        self.trial.handle(self.waiting[:count], CRASHES[law][which % len(CRASHES[law])])

    @precondition(lambda self: self.waiting)
    @rule(count=SOME, until_done=st.booleans(), inside=st.booleans())
    def share(self, count: int, until_done: bool, inside: bool) -> None:
        """Two workers have the same batch; one is held before its transaction or, waited for, inside it."""
        batch = self.waiting[:count]
        self.note(batch, "slow_worker")
        self.note(batch, "two_workers")
        beside = self.trial.beside(batch, until_done and not inside)
        self.trial.handle(batch, Moments(inside=beside) if inside else Moments(before=beside))
        self.trial.join()
        self.commit(count)

    @precondition(lambda self: self.done)
    @rule(start=st.integers(0, 50), count=SOME)
    def deliver_again(self, start: int, count: int) -> None:
        """Offsets go back: what was handled comes once more."""
        start %= len(self.done)
        self.note(self.done[start : start + count], "repeated")
        self.trial.handle(self.done[start : start + count])

    @precondition(lambda self: self.done)
    @rule(which=st.integers(0, 50))
    def send_again(self, which: int) -> None:
        """The producer sends a message a second time, to where its key belongs by now."""
        old = self.done[which % len(self.done)]
        name, order = (
            text.decode().removeprefix(f"{self.trial.name}-")
            for text in (old.header_values("message_id")[0], old.key or b"")
        )
        self.note([old], "repeated")
        if (again := self.send_one(order, int(name.removeprefix("m-")))).partition != old.partition:
            self.note([again], "more_partitions")

    @rule()
    def add_partitions(self) -> None:
        """Every key moves; what is sent from now on goes elsewhere."""
        self.moved += 1

    @initialize(forgetful=st.booleans())
    def begin(self, forgetful: bool) -> None:
        """In one story of two nothing that is kept is lost: there, no message has that excuse."""
        self.forgetful = forgetful

    @precondition(lambda self: self.forgetful)
    @rule()
    def outlive_the_retention(self) -> None:
        """All that is known is older than it is kept."""
        self.note(self.done + self.waiting, "retention")
        self.store.forget(self.place, self.trial.name)

    @precondition(lambda self: self.forgetful)
    @rule()
    def lose_the_store(self) -> None:
        """All that is known is gone."""
        self.note(self.done + self.waiting, "store_lost")
        self.store.lose(self.place, self.trial.name)

    def commit(self, count: int) -> None:
        """These are done."""
        self.done += self.waiting[:count]
        del self.waiting[:count]

    def teardown(self) -> None:
        """The rest is handled, and then every message is counted."""
        if self.waiting:
            self.trial.handle(self.waiting)
            self.commit(len(self.waiting))
        found, breaks = effects(self.place.engine, self.trial.name), self.trial.store.breaks
        for record in self.done:
            name, tried = message_id(record), self.tried[message_id(record)]
            count = min(1, found[name]) if self.store.downstream else found[name]
            assert count == 1 or tried & breaks, (
                f"{name}: {count} effects after {tried or 'nothing'}"
            )


def message_id(record: Record) -> str:
    """As the producer gave it."""
    return record.header_values("message_id")[0].decode()


def look(place: Place, store: Store, phases: Sequence[Phase] = tuple(Phase)) -> None:
    """Tell stories of this store: always the same ones, and a failure prints the shortest that fails."""
    machine = type("Told", (Machine,), {"place": place, "store": store})
    stories = STORIES // 10 if store.slow else STORIES
    quick = settings(
        max_examples=stories, stateful_step_count=20, deadline=None, derandomize=True, phases=phases
    )
    run_state_machine_as_test(machine, settings=quick)


@pytest.mark.parametrize("name", STORES)
def test_no_story_breaks_a_law_that_the_store_keeps(place: Place, name: str) -> None:
    """One effect for each message, whatever happens to it short of what the store says it cannot take."""
    look(place, STORES[name])


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("nothing", "repeated"),
        ("apart", "crash_before_effect"),
        ("tracking", "retention"),
        ("version", "older_after_newer"),
        ("watermark", "disorder"),
        ("watermark", "more_partitions"),
    ],
)
def test_a_store_that_promises_more_than_it_keeps_is_found(
    place: Place, name: str, law: str
) -> None:
    """The control: a store that says it keeps one law more than it does; there is a story against it."""
    honest = STORES[name]
    overclaiming = honest._replace(breaks=honest.breaks - {law})
    with pytest.raises(AssertionError, match="effects after"):
        look(place, overclaiming, [Phase.generate])  # any story will do
