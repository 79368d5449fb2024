"""The rule of this house obeys every law; a failure says what happened, and where to look.

The samples are those of contract/samples.py. Where two of them are rivals, one wins: those that
REJECTIONS makes about the same thing. If yours are others, name them here.
"""

import pytest

from contract.samples import Change
from tests.laws import laws
from tests.laws.deliveries import every_delivery, find_rivals
from tests.laws.world import Begin

SAMPLES = every_delivery()
RIVALS = find_rivals()

each_rival = pytest.mark.parametrize("make_rival", RIVALS.values(), ids=RIVALS)


def test_every_outcome_publishes_exactly_its_events(begin: Begin) -> None:
    """Each sample is accepted, rejected or a dead letter as it says, with all its events."""
    laws.every_outcome_publishes_exactly_its_events(begin, SAMPLES)


def test_what_is_no_message_leaves_a_dead_letter_alone(begin: Begin) -> None:
    """What the rule does not know is refused, and leaves no row of the business."""
    laws.what_is_no_message_leaves_a_dead_letter_alone(begin, SAMPLES)


def test_a_message_that_comes_again_changes_nothing(begin: Begin) -> None:
    """Redelivered alone or with all others, no sample changes a row, an event or a request."""
    laws.a_message_that_comes_again_changes_nothing(begin, SAMPLES)


def test_a_message_that_tracking_forgot_changes_nothing(begin: Begin) -> None:
    """The business's own rows know every message that was decided on."""
    laws.a_message_that_tracking_forgot_changes_nothing(begin, SAMPLES)


@pytest.mark.parametrize("forgotten", [False, True], ids=["remembered", "forgotten"])
def test_another_value_under_a_known_id_is_a_conflict(begin: Begin, *, forgotten: bool) -> None:
    """It becomes a dead letter and changes nothing else."""
    laws.another_value_under_a_known_id_is_a_conflict(begin, SAMPLES, forgotten=forgotten)


@each_rival
def test_of_two_rivals_one_wins(begin: Begin, make_rival: Change) -> None:
    """Of two messages about the same thing one is accepted, whichever comes first."""
    laws.of_two_rivals_one_wins(begin, make_rival)


def test_a_crash_at_any_step_ends_the_same(begin: Begin) -> None:
    """Killed at each step and redelivered, a batch leaves what it leaves undisturbed."""
    laws.a_crash_at_any_step_ends_the_same(begin, SAMPLES)


def test_the_same_records_leave_the_same_bytes(begin: Begin) -> None:
    """Every id, event and row follows from the records alone."""
    laws.the_same_records_leave_the_same_bytes(begin, SAMPLES)


def test_any_sequence_and_any_batches_end_the_same(begin: Begin) -> None:
    """As long as each key keeps its sequence."""
    laws.any_sequence_and_any_batches_end_the_same(begin, SAMPLES)


def test_two_workers_on_one_batch_end_as_one(begin: Begin) -> None:
    """Two workers with the same batch at the same moment leave what one leaves."""
    laws.two_workers_on_one_batch_end_as_one(begin, SAMPLES)


@each_rival
def test_two_workers_with_rivals_do_not_wait_for_each_other(
    begin: Begin, make_rival: Change
) -> None:
    """Two workers with rivals from opposite ends do not deadlock, and each pair has one winner."""
    laws.two_workers_with_rivals_do_not_wait_for_each_other(begin, make_rival)
