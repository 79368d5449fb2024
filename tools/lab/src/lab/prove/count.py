"""Counts what is on a topic, partition by partition: each number from 0 on was sent once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lab.prove.batches import NOBODY, Written
from lab.prove.job import LANES
from lab.prove.partitions import find_spans
from ops.topic import read


class Counts(NamedTuple):
    """What was found on one partition, or on all."""

    records: int
    distinct: int
    duplicated: int
    reordered: int  # first copies that come after a later number's
    missing: int
    batches: int
    without_producer_id: int  # batches that nobody could tell from a copy
    gaps: int  # in the sequence of one producer id and epoch
    taken_back: int = 0  # of aborted transactions, and there to be read all the same

    def wrong(self) -> dict[str, int]:
        """Return what idempotence should have prevented."""
        counts = {
            "duplicated": self.duplicated,
            "reordered": self.reordered,
            "missing": self.missing,
            "without_producer_id": self.without_producer_id,
            "gaps": self.gaps,
            "taken_back": self.taken_back,
        }
        return {name: count for name, count in counts.items() if count}


def read_numbers(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """Return all numbers on each partition, in the order of their offsets."""
    numbers: dict[int, list[int]] = {span.partition: [] for span in find_spans(bootstrap, topic)}
    for message in read(bootstrap, topic):
        partition = message.partition() or 0
        numbers[partition].append(int(message.value() or b""))
    return numbers


def count(
    numbers: Mapping[int, Sequence[int]],
    written: Mapping[int, Written],
    messages: int,
) -> dict[int, Counts]:
    """Count what was read and what the bytes say, for each partition."""
    missing = count_missing(numbers, messages)
    return {
        partition: count_partition(found, written[partition], missing[partition], messages)
        for partition, found in numbers.items()
    }


def count_missing(numbers: Mapping[int, Sequence[int]], messages: int) -> Counter[int]:
    """Count each missing number on the partition where its lane is, or on the first one."""
    partition_of_lane: dict[int, int] = {}
    present: set[int] = set()
    for partition, found in numbers.items():
        for number in found:
            partition_of_lane[number % LANES] = partition
            present.add(number)
    missing: Counter[int] = Counter()
    for number in range(messages):
        if number not in present:
            partition = partition_of_lane.get(number % LANES, min(numbers))
            missing[partition] += 1
    return missing


def count_partition(
    everything: Sequence[int], written: Written, missing: int, messages: int
) -> Counts:
    """Count one partition; numbers from `messages` on were taken back."""
    found = [number for number in everything if number < messages]
    seen: set[int] = set()
    reordered = 0
    highest = -1
    for number in found:
        if number not in seen:
            reordered += number < highest
            highest = max(highest, number)
            seen.add(number)
    writers = written.values()
    return Counts(
        records=len(found),
        distinct=len(seen),
        duplicated=len(found) - len(seen),
        reordered=reordered,
        missing=missing,
        batches=sum(writer.batches for writer in writers),
        without_producer_id=written[NOBODY].batches if NOBODY in written else 0,
        gaps=sum(len(writer.gaps) for writer in writers),
        taken_back=len(everything) - len(found),
    )


def total(counts: Mapping[int, Counts]) -> Counts:
    """Add up all partitions."""
    return Counts(*(sum(values) for values in zip(*counts.values(), strict=True)))
