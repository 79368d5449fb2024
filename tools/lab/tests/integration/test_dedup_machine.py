"""Anything in any order on every dedup store: a state machine looks for a story that breaks one."""

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

from lab.dedup_matrix.candidate import Backends, Candidate
from lab.dedup_matrix.effect import Moments, count_effects
from lab.dedup_matrix.stores import STORES
from lab.dedup_matrix.story import crash
from lab.dedup_matrix.trial import Trial
from service.record import Record

STORIES = 1500 if os.environ.get("PROVE") else 150
ORDERS = st.sampled_from(["o-1", "o-2", "o-3"])
SOME = st.integers(min_value=1, max_value=4)
HIGHEST_OF_ONE_DIGIT = 9
CRASHES: dict[str, list[Moments]] = {
    "crash_before_effect": [Moments(before=crash), Moments(inside=crash)],
    "crash_after_effect": [Moments(after=crash)],
}


class Machine(RuleBasedStateMachine):
    """One subscriber's life.

    Every message must have one effect, unless it met an anomaly that the store does not survive.
    """

    backends: ClassVar[Backends]
    store: ClassVar[Candidate]

    def __init__(self) -> None:
        super().__init__()
        self.trial = Trial(self.backends, self.store)
        self.sequence = 0
        self.moved = 0
        self.forgetful = False
        self.waiting: list[Record] = []  # sent, and no offset committed
        self.done: list[Record] = []
        self.met: dict[str, set[str]] = defaultdict(set)  # anomalies by message

    def send_one(self, order: str, sequence: int) -> Record:
        """Send a message; its key decides the partition."""
        partition = (int(order[-1]) + self.moved) % 4
        record = self.trial.record(f"m-{sequence}", sequence, order, partition)
        self.waiting.append(record)
        if sequence > HIGHEST_OF_ONE_DIGIT:
            self.note([record], "wider_number")
        return record

    def note(self, records: list[Record], anomaly: str) -> None:
        """Remember what these have met."""
        for record in records:
            self.met[message_id(record)].add(anomaly)

    @rule(order=ORDERS)
    def send(self, order: str) -> None:
        """The producer sends the next message."""
        self.sequence += 1
        self.send_one(order, self.sequence)

    @rule(order=ORDERS, other=ORDERS)
    def send_in_disorder(self, order: str, other: str) -> None:
        """A lower number comes after a higher one."""
        self.sequence += 2
        newer = self.send_one(order, self.sequence)
        older = self.send_one(other, self.sequence - 1)
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
    @rule(count=SOME, anomaly=st.sampled_from(sorted(CRASHES)), which=st.integers(0, 1))
    def crash(self, count: int, anomaly: str, which: int) -> None:
        """A worker takes a batch and dies: no offset is committed, so it is delivered again."""
        moments = CRASHES[anomaly][which % len(CRASHES[anomaly])]
        self.note(self.waiting[:count], anomaly)
        self.trial.handle(self.waiting[:count], moments)

    @precondition(lambda self: self.waiting)
    @rule(count=SOME, until_done=st.booleans(), inside=st.booleans())
    def share(self, count: int, until_done: bool, inside: bool) -> None:
        """Two workers have the same batch; one is held before its transaction, or inside it."""
        batch = self.waiting[:count]
        self.note(batch, "slow_worker")
        self.note(batch, "two_workers")
        other = self.trial.run_other(batch, until_done and not inside)
        self.trial.handle(batch, Moments(inside=other) if inside else Moments(before=other))
        self.trial.join()
        self.commit(count)

    @precondition(lambda self: self.done)
    @rule(start=st.integers(0, 50), count=SOME)
    def deliver_again(self, start: int, count: int) -> None:
        """Offsets go back: what was handled comes once more."""
        start %= len(self.done)
        batch = self.done[start : start + count]
        self.note(batch, "repeated")
        self.trial.handle(batch)

    @precondition(lambda self: self.done)
    @rule(which=st.integers(0, 50))
    def send_again(self, which: int) -> None:
        """The producer sends a message a second time, to the partition of its key by now."""
        old = self.done[which % len(self.done)]
        own = f"{self.trial.name}-"
        order = (old.key or b"").decode().removeprefix(own)
        sequence = int(message_id(old).removeprefix(f"{own}m-"))
        self.note([old], "repeated")
        again = self.send_one(order, sequence)
        if again.partition != old.partition:
            self.note([again], "more_partitions")

    @rule()
    def add_partitions(self) -> None:
        """Every key moves; what is sent from now on goes to another partition."""
        self.moved += 1

    @initialize(forgetful=st.booleans())
    def begin(self, forgetful: bool) -> None:
        """In every other story nothing that is kept is lost: there, no message has that excuse."""
        self.forgetful = forgetful

    @precondition(lambda self: self.forgetful)
    @rule()
    def outlive_the_retention(self) -> None:
        """All that is known is older than the retention."""
        self.note(self.done + self.waiting, "retention")
        self.trial.outlive_retention()

    @precondition(lambda self: self.forgetful)
    @rule()
    def lose_the_store(self) -> None:
        """All that is known is deleted."""
        self.note(self.done + self.waiting, "store_lost")
        self.trial.lose_store()

    def commit(self, count: int) -> None:
        """Commit the offsets of these."""
        self.done += self.waiting[:count]
        del self.waiting[:count]

    def teardown(self) -> None:
        """Handle the rest, then count every message."""
        if self.waiting:
            self.trial.handle(self.waiting)
            self.commit(len(self.waiting))
        effects = count_effects(self.backends.engine, self.trial.name)
        for record in self.done:
            name = message_id(record)
            met = self.met[name]
            count = min(1, effects[name]) if self.store.downstream else effects[name]
            is_excused = bool(met & self.store.breaks)
            assert count == 1 or is_excused, f"{name}: {count} effects after {met or 'nothing'}"


def message_id(record: Record) -> str:
    """Return the message id that the producer gave it."""
    return record.header_values("message_id")[0].decode()


def look(backends: Backends, store: Candidate) -> None:
    """Tell stories of this store, always the same ones; a failure prints the shortest."""
    tell(backends, store, STORIES // 10 if store.slow else STORIES, tuple(Phase))


def tell(backends: Backends, store: Candidate, stories: int, phases: Sequence[Phase]) -> None:
    """Tell this many stories, or as many as it takes to break the store."""
    machine = type("Story", (Machine,), {"backends": backends, "store": store})
    same_every_time = settings(
        max_examples=stories,
        stateful_step_count=20,
        deadline=None,
        derandomize=True,
        phases=phases,
        report_multiple_bugs=False,
    )
    run_state_machine_as_test(machine, settings=same_every_time)


@pytest.mark.parametrize("name", STORES)
def test_no_story_breaks_what_the_store_survives(backends: Backends, name: str) -> None:
    """One effect for each message, whatever it meets that the store survives."""
    look(backends, STORES[name])


@pytest.mark.parametrize(
    ("name", "anomaly"),
    [
        ("nothing", "repeated"),
        ("separate_transaction", "crash_before_effect"),
        ("tracking", "retention"),
        ("version", "older_after_newer"),
        ("watermark", "disorder"),
        ("watermark", "more_partitions"),
    ],
)
def test_a_store_that_promises_more_than_it_keeps_is_found(
    backends: Backends, name: str, anomaly: str
) -> None:
    """The control: a store that claims to survive one anomaly more; a story refutes it."""
    if name not in STORES:
        pytest.skip(f"the store {name} is not here")
    honest = STORES[name]
    overclaiming = honest._replace(breaks=honest.breaks - {anomaly})
    with pytest.raises(AssertionError, match="effects after"):
        tell(backends, overclaiming, 20 * STORIES, [Phase.generate])  # any story will do
