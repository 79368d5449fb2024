"""Waves, bisection, and what a dead letter keeps."""

from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.handler import bisect_refusals, split_conflicts
from service.outage import RefusedError
from service.record import DeadLetter, Message, payload
from tests.builders import record, value


def ids(wave: Sequence[object]) -> list[str]:
    """Return the message ids of a wave."""
    return [item.message_id for item in wave if isinstance(item, Message)]


def test_repeats_in_a_batch_are_folded() -> None:
    """The same message three times in one batch is one message."""
    [wave] = split_conflicts([record("m-1"), record("m-1"), record("m-2"), record("m-1")])
    assert ids(wave) == ["m-1", "m-2"]


def test_another_value_goes_into_the_next_wave() -> None:
    """Other values of one id are judged one at a time, each after the one before is stored."""
    found = split_conflicts([record("m-1", value(x=n)) for n in (1, 2, 1, 3)])
    assert [ids(wave) for wave in found] == [["m-1"], ["m-1"], ["m-1"]]


def test_a_bad_record_does_not_stop_a_good_one() -> None:
    """Dead letters and messages are in the first wave, in the sequence of their offsets."""
    [wave] = split_conflicts([record("m-1"), record("m-2", b"{"), record("m-3")])
    assert [isinstance(item, DeadLetter) for item in wave] == [False, True, False]


@given(st.sets(st.integers(0, 500)), st.integers(1, 501))
def test_bisection_finds_every_bad_part_and_no_good_one(bad: set[int], size: int) -> None:
    """Wherever bad parts are, each ends alone, and every good one passes once, in sequence.

    The number of steps is bounded, and between any two of them the group is polled.
    """
    through: list[int] = []
    calls: list[str] = []

    def step(parts: Sequence[int]) -> dict[str, bool]:
        calls.append("step")
        if bad & set(parts):
            raise RefusedError("bad")
        through.extend(parts)
        return dict.fromkeys(map(str, parts), True)

    def poll() -> None:
        calls.append("poll")

    known = bisect_refusals(range(size), step, lambda part, _: {str(part): False}, poll)
    assert known == {str(part): part not in bad for part in range(size)}
    assert through == [part for part in range(size) if part not in bad]
    refused = len(bad & set(range(size)))
    assert calls.count("step") <= 1 + 2 * refused * ceil(log2(size))
    assert calls == ["step", *["poll", "step"] * (calls.count("step") - 1)]


def test_a_dead_letter_keeps_the_bytes() -> None:
    """Key, value and headers can be read back from the payload byte for byte."""
    letter = DeadLetter(
        record("m-1", b"\x00\xff", [("h", b"\x01"), ("h", None)]), "invalid", "value: …"
    )
    kept = payload(letter, "s")
    assert b64decode(kept["value"]) == b"\x00\xff"
    assert b64decode(kept["key"]) == b"o-1"
    assert [(h["name"], h["value"]) for h in kept["headers"]][1:] == [("h", "AQ=="), ("h", None)]


def test_a_large_dead_letter_is_cut_and_measured() -> None:
    """64 KiB of a large value and 16 KiB of headers are kept, with the full length and hash."""
    big = bytes(range(256)) * 4096
    headers = [(f"h{n}", b"x" * 1000) for n in range(100)]
    kept = payload(DeadLetter(record("m-1", big, headers), "too_large", "…"), "s")  # type: ignore[arg-type]
    assert b64decode(kept["value"]) == big[: 64 * 1024]
    assert kept["value_length"] == len(big)
    assert kept["value_sha256"] == sha256(big).hexdigest()
    assert 10 < len(kept["headers"]) < 17


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_header_name_that_postgres_cannot_hold_is_cleaned(name: str) -> None:
    """NUL and lone surrogates in a header's name do not stop the dead letter."""
    kept = payload(DeadLetter(record("m-1", b"{", [(name, b"v")]), "invalid", "…"), "s")
    assert "\0" not in kept["headers"][1]["name"]
    kept["headers"][1]["name"].encode()
