"""Counts what lies on a topic, partition by partition: what was sent are the numbers from 0 on, each once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lab.prove.batches import NOBODY, Written
from lab.prove.partitions import places
from ops.topic import read

LANES = 12  # numbers that are the same modulo this go to the same partition, whether there are 3 of them or 4
PARTITIONS = 4  # each with a producer of its own: while one is cut off, the others go on


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

    def clean(self) -> bool:
        """Nothing that idempotence should have prevented."""
        return not (
            self.duplicated
            or self.reordered
            or self.missing
            or self.without_producer_id
            or self.gaps
        )


def numbers(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """All numbers on each partition, in the order of their offsets, as a consumer reads them."""
    found: dict[int, list[int]] = {place.partition: [] for place in places(bootstrap, topic)}
    for message in read(bootstrap, topic):
        found[message.partition() or 0].append(int(message.value() or b""))
    return found


def count(
    read: Mapping[int, Sequence[int]], written: Mapping[int, Written], messages: int
) -> dict[int, Counts]:
    """What was read and what was seen of the bytes, together; a number that is missing counts where it belonged."""
    homes = {number % LANES: partition for partition, found in read.items() for number in found}
    there = {number for found in read.values() for number in found}
    missing = Counter(
        homes.get(number % LANES, min(read)) for number in range(messages) if number not in there
    )
    return {
        partition: of(found, written[partition], missing[partition])
        for partition, found in read.items()
    }


def of(found: Sequence[int], written: Written, missing: int) -> Counts:
    """One partition."""
    seen, reordered, highest = set[int](), 0, -1
    for number in found:
        if number not in seen:
            reordered += number < highest
            highest = max(highest, number)
            seen.add(number)
    nobody = written[NOBODY].batches if NOBODY in written else 0
    looked = (
        sum(w.batches for w in written.values()),
        nobody,
        sum(len(w.gaps) for w in written.values()),
    )
    return Counts(len(found), len(seen), len(found) - len(seen), reordered, missing, *looked)


def total(counts: Mapping[int, Counts]) -> Counts:
    """All partitions together."""
    return Counts(*(sum(values) for values in zip(*counts.values(), strict=True)))
