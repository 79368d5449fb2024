"""The replayer: reads overdue groups again from where they began, and ends or reports each."""

import threading
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

import structlog
from confluent_kafka import KafkaException
from sqlalchemy import Engine

from extras.aggregator.event import total_event, unrecoverable_event
from extras.aggregator.group import (
    FirstMessage,
    Group,
    Partition,
    PartitionState,
    drop_repeats,
    fold,
)
from extras.aggregator.message import Message, read
from extras.aggregator.metrics import TOTALS, UNRECOVERABLE
from extras.aggregator.names import REPLAY
from extras.aggregator.overdue import OverdueGroup, exclusive_lock, find_overdue, mark_checked
from extras.aggregator.write import close
from service.outage import AbandonedError, OutageError
from service.record import Record

log = structlog.get_logger()
Read = Callable[[Partition, int, int], Iterator[Sequence[Record]]]
Lookup = Callable[[Sequence[str]], dict[str, FirstMessage]]


class Replayed(NamedTuple):
    """What the records of a partition say of the groups that began there, by their offset."""

    closed: dict[int, Group]
    still_open: dict[int, Group]


def keep_replaying(once: Callable[[], None], seconds: float, stopping: threading.Event) -> None:
    """Replay every few seconds; an outage waits for the next time, another error ends all."""
    while not stopping.wait(seconds):
        try:
            once()
        except (OutageError, AbandonedError) as reason:
            log.warning("replay_waits", reason=str(reason))


def replay(engine: Engine, read_between: Read, lookup: Lookup, topic: str, too_long: float) -> None:
    """Look at every overdue group; for each partition one instance does it, the others pass on."""
    overdue = find_overdue(engine, topic, too_long)
    partitions = [row.partition for row in overdue]
    for partition in dict.fromkeys(partitions):
        try:
            replay_partition(engine, read_between, lookup, partition, too_long)
        except (OutageError, KafkaException) as reason:
            # of this partition, perhaps, and not of the others
            _, number = partition
            log.warning("replay_waits", topic=topic, partition=number, reason=str(reason))


def replay_partition(
    engine: Engine, read_between: Read, lookup: Lookup, partition: Partition, too_long: float
) -> None:
    """Look at the overdue groups of a partition, unless another instance is doing it."""
    topic, number = partition
    with exclusive_lock(engine, f"replay {topic}/{number}") as is_ours:
        if not is_ours:
            return
        # Looked up again: what was overdue may have been ended by the instance before us.
        overdue = find_overdue(engine, topic, too_long)
        rows = [row for row in overdue if row.partition == partition]
        if rows:
            replayed = read_again(read_between, lookup, rows)
            settle(engine, rows, replayed)


def read_again(read_between: Read, lookup: Lookup, rows: Sequence[OverdueGroup]) -> Replayed:
    """Return what became of the groups of one partition, from its records.

    It is the same rule as live, fed with the same messages. But what a replay begins, buries or has
    missed does not matter, and a group that did not begin where one of these rows says is ignored.
    """
    start = min(row.group.offset for row in rows)
    stop = max(row.stop for row in rows)
    wanted = {row.group.batch_id for row in rows}
    state = PartitionState(start, {}, {})
    closed: dict[int, Group] = {}
    partition = rows[0].partition
    for records in read_between(partition, start, stop):
        again = [mark_replay(record) for record in records]
        messages = messages_of(wanted, again)
        message_ids = [message.message_id for message in messages]
        first_messages = lookup(message_ids)
        counted, _ = drop_repeats(messages, first_messages)
        state, changes = fold(state, counted, start)
        for group in changes.closed:
            closed[group.offset] = group
    still_open = {group.offset: group for group in state.open.values()}
    return Replayed(closed, still_open)


def mark_replay(record: Record) -> Record:
    """Return a record that says that it is read again; what comes of it will say so too."""
    mark = (REPLAY, b"true")
    return record._replace(headers=[*record.headers, mark])


def messages_of(batch_ids: Container[str], records: Sequence[Record]) -> list[Message]:
    """Return the messages of these groups in the records."""
    messages = []
    for record in records:
        found = read(record)
        if isinstance(found, Message) and found.batch_id in batch_ids:
            messages.append(found)
    return messages


def settle(engine: Engine, rows: Sequence[OverdueGroup], replayed: Replayed) -> None:
    """Publish what has closed, report what is gone for good, and look at the rest later."""
    done = []
    gone = []
    rest = []
    for row in rows:
        closed = replayed.closed.get(row.group.offset)
        if closed:
            done.append(closed)
        elif row.is_complete:
            gone.append(row.group._replace(is_replay=True))
        else:
            rest.append(row.group)
    totals = [total_event(group) for group in done]
    losses = [unrecoverable_event(group) for group in gone]
    published = close(engine, totals + losses)
    published_done = [group for group in done if group.event_id in published]
    published_gone = [group for group in gone if group.event_id in published]
    report_done(published_done)
    report_gone(published_gone)
    report_open(rest, replayed.still_open)
    mark_checked(engine, rest)


def report_done(groups: Sequence[Group]) -> None:
    """Count and log the totals that a replay has published."""
    for group in groups:
        TOTALS.labels("replay").inc()
        log.info("totalled", replay=True, batch_id=group.batch_id, **group.begin)


def report_gone(groups: Sequence[Group]) -> None:
    """Count and log the groups that nobody can sum any more."""
    for group in groups:
        UNRECOVERABLE.inc()
        log.error("unrecoverable", replay=True, batch_id=group.batch_id, **group.begin)


def report_open(groups: Sequence[Group], still_open: dict[int, Group]) -> None:
    """Log the groups that are open for long, with what they hold; None: their beginning is gone."""
    for group in groups:
        found = still_open.get(group.offset)
        items = found.items if found else None
        log.warning(
            "open_too_long", replay=True, batch_id=group.batch_id, items=items, **group.begin
        )
