"""How a batch of records is handled: read this first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from extras.aggregator.group import (
    Changes,
    FirstMessage,
    Partition,
    PartitionState,
    drop_repeats,
    fold,
)
from extras.aggregator.message import Message, read
from extras.aggregator.metrics import TOTALS
from extras.aggregator.write import Move, MovedError
from service import metrics
from service.record import DeadLetter, Record

log = structlog.get_logger()
States = dict[Partition, PartitionState]


class Steps(NamedTuple):
    """The four steps that reach outside of the process. Each may be repeated."""

    load_states: Callable[[set[Partition]], States]  # of partitions that are new to us
    track: Callable[[Sequence[Message]], dict[str, FirstMessage]]  # which message came first
    write: Callable[[Sequence[Move], Changes], None]  # one transaction
    commit: Callable[[Sequence[Record]], None]  # the offsets: from here on Kafka forgets the batch


def handle(records: Sequence[Record], steps: Steps, states: States) -> None:
    """Take a batch through every step; killed anywhere, it comes again and is skipped where known.

    The sums are in `states`, in memory, and nowhere else. They are right as long as nobody else has
    moved the partition, which the write finds out. Then they are forgotten, and the open groups
    are missed.
    """
    partitions = {partition_of(record) for record in records}
    new_partitions = partitions - states.keys()
    states |= steps.load_states(new_partitions)
    new_records = drop_handled(records, states)
    if new_records:
        after, moves, changes = apply_records(new_records, steps, states)
        try:
            steps.write(moves, changes)
        except MovedError:
            for partition in new_records:
                del states[partition]
            raise
        states |= after
        report(changes)
    steps.commit(records)


def drop_handled(records: Sequence[Record], states: States) -> dict[Partition, list[Record]]:
    """Return the records of each partition that its position has not passed."""
    found: dict[Partition, list[Record]] = {}
    for record in records:
        partition = partition_of(record)
        is_new = record.offset >= states[partition].position
        if is_new:
            found.setdefault(partition, []).append(record)
    return found


def apply_records(
    records: dict[Partition, list[Record]], steps: Steps, states: States
) -> tuple[States, list[Move], Changes]:
    """Return the state of each partition after its records, and what they bring about."""
    messages: dict[Partition, list[Message]] = {}
    letters: dict[Partition, list[DeadLetter]] = {}
    all_messages: list[Message] = []
    for partition, part in records.items():
        understood, bad = read_all(part)
        messages[partition] = understood
        letters[partition] = bad
        all_messages += understood
    first_messages = steps.track(all_messages)

    after: States = {}
    moves = []
    changes = Changes([], [], [], [])
    for partition, part in records.items():
        before = states[partition]
        end = part[-1].offset + 1
        counted, conflicts = drop_repeats(messages[partition], first_messages)
        after[partition], found = fold(before, counted, end)
        move = Move(*partition, before.position, end)
        moves.append(move)
        all_letters = letters[partition] + conflicts + found.letters
        found = found._replace(letters=all_letters)
        changes = changes.plus(found)
    return after, moves, changes


def read_all(records: Sequence[Record]) -> tuple[list[Message], list[DeadLetter]]:
    """Return the messages in these records, and a dead letter for each record without one."""
    messages = []
    letters = []
    for record in records:
        found = read(record)
        if isinstance(found, Message):
            messages.append(found)
        else:
            letters.append(found)
    return messages, letters


def partition_of(record: Record) -> Partition:
    """Return the partition that a record is in."""
    return record.topic, record.partition


def report(changes: Changes) -> None:
    """Count and log what a batch has brought about, after all of it is safe."""
    closed = len(changes.closed)
    TOTALS.labels("live").inc(closed)
    for group in changes.closed:
        log.info("totalled", batch_id=group.batch_id, items=group.items, **group.begin)
    for group, offset in changes.completed:
        log.warning(
            "to_be_replayed", batch_id=group.batch_id, complete_offset=offset, **group.begin
        )
    for letter in changes.letters:
        metrics.DEAD_LETTERS.labels(letter.kind).inc()
        log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **letter.record.place)
