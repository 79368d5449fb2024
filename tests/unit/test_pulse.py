"""Pulses: what one is, and that a batch goes on past it."""

from collections.abc import Sequence

import pytest

from contract.pulse import PULSE_HEADER, read_pulse, sent_at
from service.handler import Steps, wait_for_nothing
from service.pulse import handle_past_pulses
from service.record import Record
from tests.builders import record, settle_all, take_all

GOOD = "1764150000000-0123456789ab"


def pulse(partition: int = 0) -> Record:
    """Return a record that is a pulse."""
    return record(None, b"{}", [(PULSE_HEADER, GOOD.encode())], partition=partition)


def test_a_pulse_says_when_it_was_sent() -> None:
    """Its header alone makes it one."""
    assert read_pulse(pulse().headers) == GOOD
    assert sent_at(GOOD) == 1_764_150_000.0


@pytest.mark.parametrize(
    "values", [[], [b""], [None], [b"72"], [GOOD.encode(), GOOD.encode()], [GOOD.encode() + b"\n"]]
)
def test_nearly_a_pulse_is_none(values: list[bytes | None]) -> None:
    """A message that has such a header by accident is handled like any other."""
    assert read_pulse([(PULSE_HEADER, value) for value in values]) is None


class Batch:
    """What happens to a batch."""

    def __init__(self) -> None:
        self.happened: list[tuple[str, list[Record]]] = []
        self.steps = Steps(
            write=lambda _items: {},
            post=take_all,
            mark=settle_all,
            commit=lambda records: self.note("committed", records),
            wait=wait_for_nothing,
            publish=lambda pulses: self.note("published", pulses),
        )

    def note(self, what: str, records: Sequence[Record]) -> None:
        """Note a step."""
        self.happened.append((what, list(records)))

    def handle(self, records: Sequence[Record], steps: Steps) -> None:
        """Handle records, and commit them as every handler does."""
        self.note("handled", records)
        steps.commit(records)

    def take(self, records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
        """Take a batch."""
        handle_past_pulses(self.handle, records, self.steps)
        return self.happened


def test_a_pulse_is_published_before_anything_is_committed() -> None:
    """The others are handled without it, and the offsets of all are committed together."""
    first, one, other = pulse(), record("m-1"), record("m-2")
    batch = [one, first, other]
    assert Batch().take(batch) == [
        ("published", [first]),
        ("handled", [one, other]),
        ("committed", batch),
    ]


def test_pulses_alone_are_committed_too() -> None:
    """Otherwise they would be a lag."""
    alone = [pulse(), pulse(1)]
    assert Batch().take(alone) == [("published", alone), ("committed", alone)]


def test_a_batch_without_pulses_is_as_before() -> None:
    """Nothing is published."""
    batch = [record("m-1")]
    assert Batch().take(batch) == [("handled", batch), ("committed", batch)]
