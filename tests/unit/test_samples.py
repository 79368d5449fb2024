"""The contract's samples: each outcome and each reason occurs, and the contract agrees."""

import pytest

from contract.events import DEAD_LETTER, EVENTS, REASONS
from contract.order import parse_order, total
from contract.samples import GOOD, GOOD_TOTAL, INVALID, Sample, every_sample, invalid, to_json
from service.record import DeadLetter, Headers, Message, Record, read

SAMPLES = every_sample("s")


def receive(sample: Sample) -> Record:
    """Return the sample as the service gets it."""
    headers: Headers = [*sample.headers()]
    return Record("t", 0, 0, sample.order_id.encode(), sample.value, headers)


def test_each_outcome_and_each_reason_occurs() -> None:
    """What the contract knows is in the samples, so the demo and the tests meet all of it."""
    outcomes = {event.outcome for event in EVENTS if event.outcome}
    assert {sample.expected for sample in SAMPLES} == outcomes | {DEAD_LETTER}
    rejected = {sample.reason for sample in SAMPLES if sample.expected in outcomes} - {""}
    assert rejected == set(REASONS)
    assert {sample.kind for sample in SAMPLES} >= {"order", "redelivery", "conflict", "invalid"}


def test_each_event_has_columns() -> None:
    """What analysts find of an event is part of the contract, as its body is."""
    assert [event.event_type for event in EVENTS if not event.columns] == []


def test_a_further_event_follows_an_outcome_that_exists() -> None:
    """Each event either decides an outcome or follows one, and each outcome is decided by one."""
    outcomes = [event.outcome for event in EVENTS if event.outcome]
    assert len(outcomes) == len(set(outcomes))
    assert all((event.outcome is None) != (event.follows is None) for event in EVENTS)
    assert {event.follows for event in EVENTS if event.follows} <= set(outcomes)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_sample_is_a_dead_letter_for_the_reason_that_it_names(name: str) -> None:
    """Each way to be invalid is refused by the contract, under the field that the sample names."""
    broken = invalid(SAMPLES[0], name)
    item = read(receive(broken))
    assert isinstance(item, DeadLetter)
    assert item.reason.startswith(broken.reason)


def test_every_other_sample_is_a_message() -> None:
    """What is fulfilled, rejected, repeated or in conflict has kept the contract."""
    others = [sample for sample in SAMPLES if sample.kind != "invalid"]
    assert all(isinstance(read(receive(sample)), Message) for sample in others)


def test_the_good_order_costs_what_the_samples_say() -> None:
    """The total that tests compare with is the contract's own."""
    assert total(parse_order(to_json(GOOD))) == GOOD_TOTAL
