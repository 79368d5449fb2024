"""Count repeats in bounded memory: exactly up to a million ids, above that on a sample of them.

The sample is chosen by the hash of the id, so that all copies of one are in it, or none. Each time
it grows too large, half of the ids go, and what is seen from then on counts twice as much.
"""

import hashlib
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline_check.duplicates.identity import Identify, Record

MOST_IDS = 1_000_000
SHOWN = 5
BY_CLIENT = "retried by the client"
BY_APPLICATION = "sent again by the application"
OTHER_VALUE = "the same id with another value"
APART = ((1_000, "under 1 s"), (60_000, "under 1 min"), (3_600_000, "under 1 h"))
FAR_APART = "1 h and more"


class First(NamedTuple):
    """The first record with an id."""

    partition: int
    offset: int
    timestamp: int
    value: bytes  # its digest


@dataclass
class Repeats:
    """What was counted so far."""

    identify: Identify
    most_ids: int = MOST_IDS
    level: int = 0  # of the sample: one of 2 ** level ids is in it
    records: int = 0
    without_id: int = 0
    first_without_id: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    partitions: Counter[str] = field(default_factory=Counter)
    longest_distance: int = 0  # in offsets of one partition
    examples: list[str] = field(default_factory=list)
    variance: float = 0.0
    ids: dict[bytes, First] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        """Return how many records one of the sample stands for."""
        return int(2**self.level)

    @property
    def total(self) -> int:
        """Return how many records are a repeat of an earlier one."""
        return self.kinds.total()

    @property
    def error(self) -> int:
        """Return the standard error of the total; nothing while it is exact."""
        return round(math.sqrt(self.variance))

    def add(self, record: Record) -> None:
        """Count one record."""
        self.records += 1
        found = self.identify(record)
        if found is None:
            self.without_id += 1
            if len(self.first_without_id) < SHOWN:
                self.first_without_id.append(f"{record.partition}/{record.offset}")
            return
        mark = hashlib.blake2b(found, digest_size=16).digest()
        if not self.in_sample(mark):
            return
        value = hashlib.blake2b(record.value or b"", digest_size=8).digest()
        first = self.ids.get(mark)
        if first:
            self.repeat(first, record, value)
            return
        self.ids[mark] = First(record.partition, record.offset, record.timestamp, value)
        if len(self.ids) > self.most_ids:
            self.halve()

    def in_sample(self, mark: bytes) -> bool:
        """Return whether this id is one of the sample."""
        return int.from_bytes(mark[:8], "big") % self.weight == 0

    def halve(self) -> None:
        """Keep half of the ids."""
        self.level += 1
        self.ids = {mark: first for mark, first in self.ids.items() if self.in_sample(mark)}

    def repeat(self, first: First, record: Record, value: bytes) -> None:
        """Count a record whose id was there before."""
        kind = kind_of(first, record, value)
        same_partition = first.partition == record.partition
        self.kinds[kind] += self.weight
        self.times[apart(abs(record.timestamp - first.timestamp))] += self.weight
        self.partitions["the same" if same_partition else "another"] += self.weight
        self.variance += self.weight * (self.weight - 1)
        if same_partition:
            distance = record.offset - first.offset
            self.longest_distance = max(self.longest_distance, distance)
        if len(self.examples) < SHOWN:
            place = f"{record.partition}/{record.offset}"
            self.examples.append(f"{place} repeats {first.partition}/{first.offset}: {kind}")


def kind_of(first: First, record: Record, value: bytes) -> str:
    """Return who made a repeat: a client sends the same bytes again with the time of the first."""
    if value != first.value:
        return OTHER_VALUE
    is_same_send = (record.partition, record.timestamp) == (first.partition, first.timestamp)
    return BY_CLIENT if is_same_send else BY_APPLICATION


def apart(milliseconds: int) -> str:
    """Return how far apart two records are, in words."""
    return next((name for limit, name in APART if milliseconds < limit), FAR_APART)
