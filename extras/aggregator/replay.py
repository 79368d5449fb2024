"""The replayer: groups that stayed open too long are read again from where they began, and finished or told of."""

import threading
from collections.abc import Callable, Iterator, Sequence

import structlog
from confluent_kafka import KafkaException
from sqlalchemy import Engine

from extras.aggregator.event import totalled, unrecoverable
from extras.aggregator.group import Group, Known, Place, Standing, fold, sift
from extras.aggregator.left import Left, alone, left, looked
from extras.aggregator.message import Message, read
from extras.aggregator.metrics import TOTALS, UNRECOVERABLE
from extras.aggregator.write import close
from service.outage import AbandonedError, OutageError
from service.record import Record

log = structlog.get_logger()
Read = Callable[[Place, int, int], Iterator[Sequence[Record]]]
Lookup = Callable[[Sequence[str]], dict[str, Known]]


def keep_replaying(once: Callable[[], None], seconds: float, stopping: threading.Event) -> None:
    """Look again and again; an outage is waited out until the next look, any other error ends the process."""
    while not stopping.wait(seconds):
        try:
            once()
        except (OutageError, AbandonedError) as reason:
            log.warning("replay_waits", reason=str(reason))


def replay(engine: Engine, read_between: Read, lookup: Lookup, topic: str, too_long: float) -> None:
    """Look at every group that is left; one instance at a time for each partition, the others pass on."""
    for place in {row.place: None for row in left(engine, topic, too_long)}:
        try:
            with alone(engine, f"replay {place[0]}/{place[1]}") as mine:
                rows = (
                    [row for row in left(engine, topic, too_long) if row.place == place]
                    if mine
                    else []
                )
                if rows:
                    settle(engine, rows, *read_again(read_between, lookup, rows))
        except (
            OutageError,
            KafkaException,
        ) as reason:  # of this partition, perhaps, and not of the others
            log.warning("replay_waits", topic=place[0], partition=place[1], reason=str(reason))


def read_again(
    read_between: Read, lookup: Lookup, rows: Sequence[Left]
) -> tuple[dict[int, Group], dict[int, Group]]:
    """The groups that close and those that stay open, by where they began, from the records of one partition.

    It is the same rule as live, fed with the same messages, but as a replay: what it begins, buries or has missed
    is nobody's concern, and a group that did not begin where one of these rows says is left aside.
    """
    start, wanted = min(row.group.offset for row in rows), {row.group.batch_id for row in rows}
    standing, closed = Standing(start, {}, {}), dict[int, Group]()
    for records in read_between(rows[0].place, start, max(row.stop for row in rows)):
        messages = [
            m for m in map(read, records) if isinstance(m, Message) and m.batch_id in wanted
        ]
        counted, _ = sift(messages, lookup([m.message_id for m in messages]))
        standing, changes = fold(standing, counted, start)
        closed |= {group.offset: group for group in changes.closed}
    return closed, {group.offset: group for group in standing.open.values()}


def settle(
    engine: Engine, rows: Sequence[Left], closed: dict[int, Group], still: dict[int, Group]
) -> None:
    """Publish what has closed, say what is gone for good, and look at the rest later."""
    done = [closed[row.group.offset] for row in rows if row.group.offset in closed]
    gone = [row.group for row in rows if row.complete and row.group.offset not in closed]
    rest = [row.group for row in rows if not row.complete and row.group.offset not in closed]
    published = close(engine, [*map(totalled, done), *map(unrecoverable, gone)])
    for group in [*done, *gone]:
        if group.event_id in published:
            is_done = group.offset in closed
            (TOTALS.labels("replay") if is_done else UNRECOVERABLE).inc()
            say = log.info if is_done else log.error
            say(
                "totalled" if is_done else "unrecoverable",
                replay=True,
                batch_id=group.batch_id,
                **group.begin,
            )
    for group in rest:
        items = (
            still[group.offset].items if group.offset in still else None
        )  # none: its beginning is gone
        log.warning(
            "open_too_long", replay=True, batch_id=group.batch_id, items=items, **group.begin
        )
    looked(engine, rest)
