"""Which numbers pass, and what is no number."""

from collections import defaultdict

import pytest

from extras.filter.decide import decide, make_reader
from extras.filter.tests.data import numbers
from service.record import Record

READ = make_reader("value")


def record(value: bytes | None, partition: int = 0, offset: int = 0, **headers: bytes) -> Record:
    """Return a record with this value."""
    return Record("numbered.events", partition, offset, b"k", value, list(headers.items()))


def pass_on(values: list[int], marks: dict[int, int], partition: int = 0) -> list[int]:
    """Return the numbers that pass in one batch."""
    records = [record(str(value).encode(), partition) for value in values]
    decision = decide(records, marks, READ)
    assert decision.dropped == len(values) - len(decision.passed)
    return [int(found.value or b"") for found in decision.passed]


def test_the_first_number_of_a_partition_passes() -> None:
    """Also a zero, and also without a mark."""
    assert pass_on([0], {}) == [0]


@pytest.mark.parametrize("number", range(2, 8))
def test_a_higher_number_passes(number: int) -> None:
    """Gaps do not matter."""
    assert pass_on([number], {0: 1}) == [number]


@pytest.mark.parametrize("number", range(1, 8))
def test_a_number_that_is_not_higher_is_dropped(number: int) -> None:
    """The same number and each below it."""
    assert pass_on([number], {0: 7}) == []


def test_a_batch_is_filtered_in_itself() -> None:
    """What one record raises counts for those behind it."""
    assert pass_on([1, 2, 1, 4, 3, 4, 5], {}) == [1, 2, 4, 5]


def test_partitions_do_not_know_each_other() -> None:
    """The walk over three partitions leaves the highest number of each."""
    walk = [(0, 1), (1, 2), (2, 1), (0, 4), (1, 3), (0, 2), (2, 5), (1, 6)]
    records = [record(str(number).encode(), partition) for partition, number in walk]
    decision = decide(records, {}, READ)
    assert decision.marks() == {0: 4, 1: 6, 2: 5}
    assert decision.dropped == 1


def test_the_data_set_has_3500_new_numbers() -> None:
    """4,858 in, 3,500 out, in whatever batches they come."""
    by_key: dict[str, list[int]] = defaultdict(list)
    for key, number in numbers():
        by_key[key].append(number)
    assert sum(map(len, by_key.values())) == 4858
    passed = [number for values in by_key.values() for number in pass_on(values, {})]
    assert sorted(passed) == list(range(1, 3501))


@pytest.mark.parametrize("value", [None, b"", b"x", b"-1", b"1.0", b" 1", b"1" * 19, b"\xff"])
def test_what_is_no_number_becomes_a_letter(value: bytes | None) -> None:
    """It says what is there instead, raises no mark and drops nothing."""
    [letter] = decide([record(value)], {0: 5}, READ).letters
    assert letter.reason.startswith("value: ")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "headers.sequence: given 0 times"),
        ([b"1", b"2"], "headers.sequence: given 2 times"),
        ([b"one"], "headers.sequence: should be 1 to 18 digits, not 'one'"),
        ([b"7"], 7),
    ],
)
def test_a_number_may_be_in_a_header(given: list[bytes], reason: str | int) -> None:
    """It has to be there once."""
    read = make_reader("header:sequence")
    found = Record("t", 0, 0, None, b"{}", [("sequence", value) for value in given])
    assert read(found) == reason
