"""Record batches as they lie on a topic: who wrote them, and whether their sequence numbers leave no gap."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

# Offset of the first record, length, leader epoch, magic, crc, attributes, distance to the last record, two
# timestamps, producer id, epoch, sequence of the first record, count. Compression begins behind it.
HEADER = struct.Struct(">qiibIhiqqqhii")
FRONT, MAGIC = (
    12,
    16,
)  # the length counts what follows itself; where the version of the format stands
CONTROL = 0x20  # a transaction's own mark: it carries no sequence
NOBODY = (-1, -1)  # for a producer id and an epoch


class Batch(NamedTuple):
    """What its header says; written is in milliseconds since 1970."""

    first: int
    last: int
    producer_id: int
    epoch: int
    sequence: int
    control: bool
    written: int


@dataclass
class Writer:
    """What one producer id has written in one epoch to one partition; without any, what nobody can tell apart."""

    batches: int = 0
    records: int = 0
    first: int = -1  # the offset of its first batch
    written: int = 0  # when its last batch was
    next: int = -1  # the sequence that must follow
    gaps: list[str] = field(default_factory=list)


Written = dict[tuple[int, int], Writer]  # by producer id and epoch


def batches(data: bytes) -> Iterator[Batch]:
    """Each whole batch; a last one that was cut off is left to the next fetch."""
    at = 0
    while at + MAGIC < len(data) and (
        end := at + FRONT + int.from_bytes(data[at + 8 : at + FRONT])
    ) <= len(data):
        if data[at + MAGIC] < 2:  # before Kafka 0.11 there were no producer ids
            first = int.from_bytes(data[at : at + 8])
            yield Batch(first, first, *NOBODY, -1, control=False, written=0)
        else:
            first, _, _, _, _, flags, more, _, written, producer, epoch, sequence, _ = (
                HEADER.unpack_from(data, at)
            )
            yield Batch(
                first, first + more, producer, epoch, sequence, bool(flags & CONTROL), written
            )
        at = end


def writers(found: Iterable[Batch]) -> Written:
    """Who wrote a partition, by producer id and epoch; each batch must begin where the one before it ended."""
    known: Written = {}
    for batch in found:
        if not batch.control:
            note(known, batch)
    return known


def note(known: Written, batch: Batch) -> None:
    """Add one batch; only with an id, an epoch and a sequence can a broker tell a copy from a new one."""
    idempotent = min(batch.producer_id, batch.epoch, batch.sequence) >= 0
    writer = known.setdefault(
        (batch.producer_id, batch.epoch) if idempotent else NOBODY, Writer(first=batch.first)
    )
    count = batch.last - batch.first + 1
    if idempotent and writer.next not in (-1, batch.sequence):
        writer.gaps.append(
            f"offset {batch.first} has sequence {batch.sequence}, {writer.next} was due"
        )
    writer.next = (batch.sequence + count) % 2**31  # after the last number comes 0 again
    writer.batches, writer.records, writer.written = (
        writer.batches + 1,
        writer.records + count,
        batch.written,
    )
