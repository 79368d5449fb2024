"""The groups that a replay must look at, and the lock that lets one instance do it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Engine, text

from extras.aggregator.group import Group, Partition
from service.database import classify_errors

# A group is overdue when it is complete, but the live consumer had missed how it began; or when it
# is open for so long that somebody should know, and again at twice that age. A replay reads up to
# where the live consumer is, which Postgres knows to the message.
OVERDUE = text("""
    select
        o.batch_id,
        o.topic,
        o.partition,
        o."offset",
        o.complete_offset is not null as is_complete,
        coalesce(o.complete_offset + 1, p."offset") as stop
    from open_batch o
    join batch_position p on p.topic = o.topic and p.partition = o.partition
    where o.topic = :topic and (
        o.complete_offset is not null
        or o.looked_at + greatest(
            make_interval(secs => :too_long), o.looked_at - o.begun_at
        ) < now()
    )
    order by o.topic, o.partition, o."offset"
""")
MARK_CHECKED = text("""
    update open_batch
    set looked_at = now()
    where topic = :topic and partition = :partition and "offset" = any(:offsets)
""")
LOCK = text("select pg_try_advisory_lock(hashtextextended(:name, 0))")
UNLOCK = text("select pg_advisory_unlock(hashtextextended(:name, 0))")


class OverdueGroup(NamedTuple):
    """A group to look at: where it began, and up to where there is something to read."""

    group: Group
    is_complete: bool
    stop: int

    @property
    def partition(self) -> Partition:
        """Return the partition that it is in."""
        return self.group.topic, self.group.partition


def find_overdue(engine: Engine, topic: str, too_long: float) -> list[OverdueGroup]:
    """Return the groups of a topic that are overdue, in the sequence in which they began."""
    parameters = {"topic": topic, "too_long": too_long}
    with classify_errors(), engine.connect() as connection:
        rows = connection.execute(OVERDUE, parameters)
        overdue = []
        for *begin, is_complete, stop in rows:
            group = Group(*begin)
            overdue.append(OverdueGroup(group, is_complete, stop))
        return overdue


def mark_checked(engine: Engine, groups: Sequence[Group]) -> None:
    """Note that these groups of one partition are still open."""
    if not groups:
        return
    first = groups[0]
    parameters = {
        "topic": first.topic,
        "partition": first.partition,
        "offsets": [group.offset for group in groups],
    }
    with classify_errors(), engine.connect() as connection:
        connection.execute(MARK_CHECKED, parameters)


@contextmanager
def exclusive_lock(engine: Engine, name: str) -> Iterator[bool]:
    """Give whether the lock is ours; it is, until the block ends or the connection is lost."""
    with classify_errors(), engine.connect() as connection:
        is_ours = connection.scalar(LOCK, {"name": name}) is True
        try:
            yield is_ours
        finally:
            if is_ours:
                connection.execute(UNLOCK, {"name": name})
