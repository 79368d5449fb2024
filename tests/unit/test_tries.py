"""Which record ends the process: tries that are counted in the metadata of offsets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.tries import ALONE, TOGETHER, Tries, read_count, write_count

BATCH = 4


class Partition:
    """A partition with a record that ends the process, and what is committed there."""

    def __init__(self, length: int, fatal: int | None) -> None:
        self.length = length
        self.fatal = fatal
        self.offset = 0
        self.metadata = ""
        self.commits = 0
        self.handled: list[int] = []
        self.buried: list[int] = []

    def commit(self, written: dict[int, str], offset: int) -> None:
        """Commit an offset, with what is written of this partition."""
        self.offset = offset
        self.metadata = written.get(0, "")
        self.commits += 1

    def run_until_the_end(self, *, is_outage: bool = False) -> bool:
        """Run one process; return whether it ended by itself, with everything handled."""
        tries = Tries(BATCH)
        tries.assign(0, self.metadata)
        while self.offset < self.length:
            count = tries.most_records()
            batch = range(self.offset, min(self.offset + count, self.length))
            begun = tries.to_begin([0])
            if begun:
                self.commit(begun, self.offset)
                tries.begun.update(begun)
            if is_outage:
                taken_back = tries.take_back()
                if taken_back:
                    self.commit(taken_back, self.offset)
                return False
            if tries.ends_the_process(0):
                self.buried.append(batch.start)
            elif self.fatal in batch:
                return False
            else:
                self.handled += batch
            self.commit(tries.go_on({0: len(batch)}), batch.stop)
        return True


def run(partition: Partition, most: int = 50) -> int:
    """Start processes until one does not end; return how many have."""
    for deaths in range(most):
        if partition.run_until_the_end():
            return deaths
    raise AssertionError(f"it still ends: offset {partition.offset}, {partition.metadata}")


@settings(derandomize=True)
@given(length=st.integers(1, 20), data=st.data())
def test_the_one_that_ends_the_process_is_buried_and_no_other(
    length: int, data: st.DataObject
) -> None:
    """Wherever it is: three ends in company, three alone, and the others are handled once each.

    An end after the first batch is one more: only where a process begins is there a note of it.
    """
    fatal = data.draw(st.integers(0, length - 1))
    partition = Partition(length, fatal)
    is_in_first_batch = fatal < BATCH
    assert run(partition) == TOGETHER + ALONE + (0 if is_in_first_batch else 1)
    assert partition.buried == [fatal]
    assert sorted(partition.handled) == [n for n in range(length) if n != fatal]


def test_a_process_that_goes_on_writes_once() -> None:
    """One commit before the first batch, then one for each batch: nothing more."""
    partition = Partition(10 * BATCH, None)
    assert run(partition) == 0
    assert partition.commits == 1 + 10
    assert partition.metadata == ""


def test_ends_in_an_outage_do_not_count() -> None:
    """Killed ten times while it waits, it then handles everything; control: counted, it buries."""
    partition = Partition(3 * BATCH, None)
    for _ in range(10):
        assert not partition.run_until_the_end(is_outage=True)
    assert run(partition) == 0
    assert partition.buried == []

    partition = Partition(3 * BATCH, None)
    for _ in range(TOGETHER + ALONE):
        tries = Tries(BATCH)
        tries.assign(0, partition.metadata)
        partition.commit(tries.to_begin([0]), 0)
    run(partition)
    assert partition.buried == [0]


def test_batches_become_smaller_with_each_end() -> None:
    """Only what was with it is tried: one that was killed for another reason loses little time."""
    sizes = []
    for count in range(TOGETHER + ALONE + 1):
        tries = Tries(500)
        tries.assign(0, write_count(count))
        sizes.append((tries.most_records(), tries.watched.get(0, 0)))
    assert sizes == [(500, 0), (62, 500), (7, 62), (1, 7), (1, 1), (1, 1), (1, 1)]


@pytest.mark.parametrize("metadata", [None, "", "tries=", "tries=x", "tries=-1", "tries=9999", "x"])
def test_what_others_wrote_is_no_count(metadata: str | None) -> None:
    """Metadata of another tool, or none, counts as nothing."""
    assert read_count(metadata) == 0


@pytest.mark.parametrize("count", [0, 1, 5, 999])
def test_a_count_is_read_as_it_was_written(count: int) -> None:
    """What one process writes the next one reads."""
    assert read_count(write_count(count)) == count


def test_a_partition_without_records_in_the_batch_is_not_counted() -> None:
    """What has not begun has ended nothing, whatever has ended the process beside it."""
    tries = Tries(BATCH)
    for number in (0, 1):
        tries.assign(number, None)
    written = tries.to_begin([1])
    assert list(written) == [1]
    tries.begun.update(written)
    assert tries.noted() == written


def test_a_partition_that_is_gone_is_forgotten() -> None:
    """Whoever has it now counts; here no batch is small because of it."""
    tries = Tries(BATCH)
    tries.assign(0, write_count(TOGETHER))
    assert tries.most_records() == 1
    tries.drop(0)
    assert tries.most_records() == BATCH
    assert tries.to_begin([0]) == {}
