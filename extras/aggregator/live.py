"""The story of a batch of messages: read this first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from extras.aggregator.group import Changes, Known, Place, Standing, fold, sift
from extras.aggregator.message import Message, read
from extras.aggregator.metrics import TOTALS
from extras.aggregator.write import Move, MovedError
from service import metrics
from service.record import DeadLetter, Record

log = structlog.get_logger()
Standings = dict[Place, Standing]


class Steps(NamedTuple):
    """The four things that a batch asks of the world, or does to it. Each may be repeated."""

    stand: Callable[[set[Place]], Standings]  # of partitions that are new to us
    track: Callable[[Sequence[Message]], dict[str, Known]]  # whose message came first
    write: Callable[[Sequence[Move], Changes], None]  # one transaction
    commit: Callable[[Sequence[Record]], None]  # the offsets: from here on Kafka forgets the batch


def handle(records: Sequence[Record], steps: Steps, standings: Standings) -> None:
    """Take a batch through every step; killed anywhere, it is redelivered, and what Postgres knows is skipped.

    The sums are in `standings`, in memory, and nowhere else. They hold as long as the partition has not been
    moved by anybody else, which the write finds out; then they are forgotten, and what is open is missed.
    """
    standings |= steps.stand({place(record) for record in records} - standings.keys())
    parts = {
        at: [r for r in records if place(r) == at and r.offset >= standings[at].position]
        for at in standings
    }
    parts = {at: part for at, part in parts.items() if part}
    if parts:
        after, moves, changes = understand(parts, steps, standings)
        try:
            steps.write(moves, changes)
        except MovedError:
            for at in parts:
                del standings[at]
            raise
        standings |= after
        report(changes)
    steps.commit(records)


def understand(
    parts: dict[Place, list[Record]], steps: Steps, standings: Standings
) -> tuple[Standings, list[Move], Changes]:
    """Where each partition stands after its records, and what they bring about."""
    read_ = {at: [read(record) for record in part] for at, part in parts.items()}
    known = steps.track(
        [item for items in read_.values() for item in items if isinstance(item, Message)]
    )
    after: Standings = {}
    moves, changes = [], Changes([], [], [], [])
    for at, items in read_.items():
        counted, conflicts = sift([item for item in items if isinstance(item, Message)], known)
        end = parts[at][-1].offset + 1
        after[at], found = fold(standings[at], counted, end)
        moves.append(Move(*at, standings[at].position, end))
        letters = [item for item in items if isinstance(item, DeadLetter)] + conflicts
        changes = changes.plus(found._replace(letters=letters + found.letters))
    return after, moves, changes


def place(record: Record) -> Place:
    """The partition that a record lies in."""
    return record.topic, record.partition


def report(changes: Changes) -> None:
    """Once for each batch, after everything in it is safe."""
    TOTALS.labels("live").inc(len(changes.closed))
    for group in changes.closed:
        log.info("totalled", batch_id=group.batch_id, items=group.items, **group.begin)
    for group, offset in changes.completed:
        log.warning(
            "to_be_replayed", batch_id=group.batch_id, complete_offset=offset, **group.begin
        )
    for letter in changes.letters:
        metrics.DEAD_LETTERS.labels(letter.kind).inc()
        log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **letter.record.place)
