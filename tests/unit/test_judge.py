"""Whose fault a refusal is, with a probe and a count that say what a test wants."""

from collections.abc import Sequence

import pytest
from prometheus_client import REGISTRY

from contract.events import ACCEPTED, REJECTED
from contract.samples import GOOD
from service.dedup import Handled
from service.judge import Judge, with_fresh_ids
from service.outage import RefusedError
from service.record import DeadLetter, Item, Message, Record, read
from service.refusals import Cause
from tests.builders import record, value

REFUSAL = RefusedError("refused by the database: 23514 no_13", "23514", "no_13")
CAUSE = Cause("database", "23514", "no_13")


class FakeConsumer:
    """A consumer that waits for no second."""

    def __init__(self) -> None:
        self.waits_for = ""
        self.waits: list[float] = []

    def idle(self, seconds: float) -> None:
        """Note how long it should have waited."""
        self.waits.append(seconds)


class Court:
    """A judge, and what it is told by the database."""

    def __init__(self) -> None:
        self.consumer = FakeConsumer()
        self.probes: list[Item] = []
        self.refusal: RefusedError | None = None
        self.noted: list[tuple[Cause, Record]] = []
        self.allowed = True
        self.judge = Judge(self.try_out, self.may_give_up, self.consumer, probe_seconds=1)

    def try_out(self, items: Sequence[Item]) -> None:
        """Refuse what a test wants refused."""
        self.probes += items
        if self.refusal:
            raise self.refusal

    def may_give_up(self, cause: Cause, refused: Record) -> bool:
        """Count."""
        self.noted.append((cause, refused))
        return self.allowed

    def is_to_blame(self, of: Record | None = None) -> bool:
        """Return what the judge says of a record that is refused whenever it is repeated."""
        item = read(of or record())
        says = self.judge.is_to_blame(item, REFUSAL)
        if self.judge.suspect is None:
            return says
        return self.judge.is_to_blame(item, REFUSAL)


def counted(verdict: str) -> float:
    """Return how many refusals had this end."""
    labels = {"kind": "database", "code": "23514", "name": "no_13", "verdict": verdict}
    return REGISTRY.get_sample_value("refusals_total", labels) or 0


def test_a_message_that_is_refused_while_good_ones_pass_is_to_blame() -> None:
    """The probe is made after the refusal, then the refusal is noted, and nothing waits."""
    court, buried, of = Court(), counted("buried"), record()
    assert court.is_to_blame(of)
    assert court.noted == [(CAUSE, of)]
    assert len(court.probes) == 1
    assert not court.consumer.waits_for
    assert counted("buried") == buried + 1


def test_a_message_is_repeated_after_the_probe_before_it_is_buried() -> None:
    """Refused, and mended before the probe: else a good message would be buried."""
    court, first, second = Court(), read(record()), read(record())
    assert not court.judge.is_to_blame(first, REFUSAL)
    assert not court.noted
    assert not court.consumer.waits_for
    assert not court.judge.is_to_blame(second, REFUSAL)
    assert not court.noted
    assert court.judge.is_to_blame(second, REFUSAL)
    assert len(court.probes) == 2


def test_a_message_that_is_refused_while_good_ones_are_too_is_not() -> None:
    """It waits; /readyz can say for what; and it does not count as a record of that cause."""
    court, waits = Court(), counted("waits")
    court.refusal = RefusedError("refused by the database: 42501", "42501")
    assert not court.is_to_blame()
    assert not court.noted
    assert court.consumer.waits_for == (
        "refused by the database: 23514 no_13:"
        " a good message is refused too (refused by the database: 42501)"
    )
    assert court.consumer.waits[-1] == 1
    assert counted("waits") == waits + 1


def test_a_cause_that_has_refused_too_many_is_waited_for() -> None:
    """Good ones pass, but there are too many of the others: a person is told what to type."""
    court = Court()
    court.allowed = False
    assert not court.is_to_blame()
    assert "pipeline dead-letters allow 23514:no_13" in court.consumer.waits_for


def test_a_dead_letter_is_never_to_blame() -> None:
    """It fits its table whatever is in it: no probe is needed to know that."""
    court = Court()
    assert not court.judge.is_to_blame(DeadLetter(record(), "invalid", "value: "), REFUSAL)
    assert not court.probes
    assert not court.noted


def test_there_is_one_probe_a_second_at_most() -> None:
    """The second refused message waits, polling, until the second after the first is over."""
    court = Court()
    assert court.is_to_blame()
    assert court.is_to_blame()
    assert court.consumer.waits == [
        pytest.approx(wait, abs=0.1) for wait in (0.001, 0.001, 1, 0.001)
    ]


def test_the_probe_is_made_of_what_passed_lately() -> None:
    """Of the contract's sample first, then of the last message that was accepted and fresh."""
    court = Court()
    court.is_to_blame()
    accepted = Handled("", ACCEPTED, audited=False, first=True)
    known = {
        "m-1": accepted,
        "m-2": accepted,
        "m-3": accepted._replace(first=False),
        "m-4": accepted._replace(outcome=REJECTED),
    }
    items = [read(record(f"m-{n}", value(f"o-{n}", customer_id=f"c-{n}"))) for n in range(1, 6)]
    court.judge.remember([*items, read(record("m-6", b"{"))], known)
    court.is_to_blame()
    probes = [probe for probe in court.probes if isinstance(probe, Message)]
    assert [probe.order["customer_id"] for probe in probes] == [GOOD["customer_id"], "c-2"]


def test_a_message_that_is_buried_ends_the_wait() -> None:
    """What /readyz has said is true no more."""
    court = Court()
    court.allowed = False
    assert not court.is_to_blame()
    court.allowed = True
    assert court.is_to_blame()
    assert not court.consumer.waits_for


def test_a_probe_has_no_id_of_the_message_that_it_is_made_of() -> None:
    """Nothing finds it as a repeat, and nothing of the message is locked."""
    message = read(record("m-1", value("o-1"), [("sequence", b"5")]))
    assert isinstance(message, Message)
    probe, other = with_fresh_ids(message), with_fresh_ids(message)
    ids = {message.message_id, probe.message_id, other.message_id}
    keys = {message.order["order_id"], probe.order["order_id"], other.order["order_id"]}
    assert len(ids) == len(keys) == 3
    assert probe.sequence is not None
    assert probe.sequence > 5
    assert probe.order["customer_id"] == message.order["customer_id"]
