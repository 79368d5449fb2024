"""Statements that take too long are repeated with less."""

from collections.abc import Sequence

import pytest

from service.outage import OutageError, TooSlowError, in_pieces


class SlowStep:
    """A step that the database finishes in time for so many parts, and no more."""

    def __init__(self, in_time: int) -> None:
        self.in_time = in_time
        self.passed: list[int] = []
        self.calls: list[int | str] = []

    def __call__(self, parts: Sequence[int]) -> dict[str, int]:
        """Take the parts, or none of them."""
        self.calls.append(len(parts))
        if len(parts) > self.in_time:
            raise TooSlowError("database: 57014")
        self.passed.extend(parts)
        return {str(part): part for part in parts}

    def poll(self) -> None:
        """Note that the group was polled."""
        self.calls.append("poll")


def test_a_batch_that_takes_too_long_goes_on_in_smaller_pieces() -> None:
    """Where 50 rows pass in time and 500 do not, each passes once, in sequence, with polls between.

    Without smaller pieces the same 500 would be repeated for ever.
    """
    slow = SlowStep(in_time=50)
    known = in_pieces(slow, slow.poll)(range(500))
    assert known == {str(part): part for part in range(500)}
    assert slow.passed == [*range(500)]
    sizes = [call for call in slow.calls if call != "poll"]
    assert sizes[:5] == [500, 250, 125, 62, 31]
    assert set(sizes[5:]) == {31, 4}
    assert all(slow.calls[n] == "poll" for n in range(1, len(slow.calls), 2))


def test_the_next_batch_begins_small_and_grows_again() -> None:
    """What was too slow is not tried again in full with each batch, nor given up for ever."""
    slow = SlowStep(in_time=50)
    step = in_pieces(slow, slow.poll)
    step(range(500))
    slow.calls.clear()
    step(range(500))
    assert slow.calls[:3] == [62, "poll", 31]
    slow.in_time = 1000
    for _ in range(5):
        slow.calls.clear()
        step(range(500))
    assert slow.calls == [500]


def test_a_single_message_that_takes_too_long_is_an_outage() -> None:
    """There is nothing smaller: it is waited out, such as a lock on the table."""
    slow = SlowStep(in_time=0)
    with pytest.raises(OutageError, match="57014"):
        in_pieces(slow, slow.poll)(range(8))
    assert slow.calls == [8, "poll", 4, "poll", 2, "poll", 1]
