"""Record batches as a topic stores them: who wrote them, and whether their sequences have gaps."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

# Offset of the first record, length, leader epoch, magic, crc, attributes, distance to the last
# record, two timestamps, producer id, epoch, sequence of the first record, count.
# Compression begins behind it.
HEADER = struct.Struct(">qiibIhiqqqhii")
LENGTH_END = 12  # the length counts what follows itself
MAGIC = 16  # where the version of the format is
CONTROL = 0x20  # a transaction's own mark: it carries no sequence
NOBODY = (-1, -1)  # for a producer id and an epoch
NONE_YET = -1


class Batch(NamedTuple):
    """What the header of a batch says; `written` is in milliseconds since 1970."""

    first: int
    last: int
    producer_id: int
    epoch: int
    sequence: int
    control: bool
    written: int


@dataclass
class Writer:
    """What one producer id wrote to one partition in one epoch.

    Without a producer id: what all writers wrote that nobody can tell apart.
    """

    batches: int = 0
    records: int = 0
    first: int = -1  # the offset of its first batch
    written: int = 0  # when its last batch was
    next: int = NONE_YET  # the sequence that must follow
    gaps: list[str] = field(default_factory=list)


Written = dict[tuple[int, int], Writer]  # by producer id and epoch


def read_batches(data: bytes) -> Iterator[Batch]:
    """Yield each whole batch; a last one that was cut off is left to the next fetch."""
    start = 0
    while start + MAGIC < len(data):
        length = int.from_bytes(data[start + 8 : start + LENGTH_END])
        end = start + LENGTH_END + length
        if end > len(data):
            return
        yield read_batch(data, start)
        start = end


def read_batch(data: bytes, start: int) -> Batch:
    """Return the batch that begins here."""
    if data[start + MAGIC] < 2:  # before Kafka 0.11 there were no producer ids
        offset = int.from_bytes(data[start : start + 8])
        return Batch(offset, offset, *NOBODY, -1, control=False, written=0)
    header = HEADER.unpack_from(data, start)
    first, _, _, _, _, attributes, distance, _, written, producer_id, epoch, sequence, _ = header
    return Batch(
        first=first,
        last=first + distance,
        producer_id=producer_id,
        epoch=epoch,
        sequence=sequence,
        control=bool(attributes & CONTROL),
        written=written,
    )


def find_writers(batches: Iterable[Batch]) -> Written:
    """Return who wrote a partition; each batch must begin where its writer's last one ended."""
    writers: Written = {}
    for batch in batches:
        if not batch.control:
            add_batch(writers, batch)
    return writers


def add_batch(writers: Written, batch: Batch) -> None:
    """Add one batch to its writer.

    Only with an id, an epoch and a sequence can a broker tell a copy from a new batch.
    """
    is_idempotent = min(batch.producer_id, batch.epoch, batch.sequence) >= 0
    identity = (batch.producer_id, batch.epoch) if is_idempotent else NOBODY
    writer = writers.setdefault(identity, Writer(first=batch.first))
    is_gap = is_idempotent and writer.next not in (NONE_YET, batch.sequence)
    if is_gap:
        found = f"offset {batch.first} has sequence {batch.sequence}"
        writer.gaps.append(f"{found}, {writer.next} was due")
    count = batch.last - batch.first + 1
    writer.next = (batch.sequence + count) % 2**31  # after the last number comes 0 again
    writer.batches += 1
    writer.records += count
    writer.written = batch.written
