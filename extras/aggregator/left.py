"""The groups that somebody has to look at: which they are, and that only one instance does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Engine, text

from extras.aggregator.group import Group, Place
from service.database import classify_errors

# Complete, but the live consumer had missed how it began; or open for so long that somebody should know, and then
# again at twice its age. A replay goes as far as the live consumer stands, which Postgres knows to the message.
LEFT = text("""
    select o.batch_id, o.topic, o.partition, o."offset", complete_offset is not null as complete,
        coalesce(complete_offset + 1, p."offset") as stop
    from open_batch o join batch_position p on p.topic = o.topic and p.partition = o.partition
    where o.topic = :topic and (complete_offset is not null
        or looked_at + greatest(make_interval(secs => :too_long), looked_at - begun_at) < now())
    order by o.topic, o.partition, o."offset"
""")
LOOKED = text("""
    update open_batch set looked_at = now()
    where topic = :topic and partition = :partition and "offset" = any(:offsets)
""")
LOCK = text("select pg_try_advisory_lock(hashtextextended(:name, 0))")
UNLOCK = text("select pg_advisory_unlock(hashtextextended(:name, 0))")


class Left(NamedTuple):
    """A group that somebody has to look at: where it began, and how far there is something to read."""

    group: Group
    complete: bool
    stop: int

    @property
    def place(self) -> Place:
        """Its partition."""
        return self.group.topic, self.group.partition


def left(engine: Engine, topic: str, too_long: float) -> list[Left]:
    """The groups that somebody has to look at."""
    with classify_errors(), engine.connect() as connection:
        rows = connection.execute(LEFT, {"topic": topic, "too_long": too_long})
        return [Left(Group(*begin), complete, stop) for *begin, complete, stop in rows]


def looked(engine: Engine, groups: Sequence[Group]) -> None:
    """Note that these groups of one partition are still open."""
    if groups:
        asked = {
            "topic": groups[0].topic,
            "partition": groups[0].partition,
            "offsets": [g.offset for g in groups],
        }
        with classify_errors(), engine.connect() as connection:
            connection.execute(LOOKED, asked)


@contextmanager
def alone(engine: Engine, name: str) -> Iterator[bool]:
    """Whether nobody else is at this now; it is so until the block ends, or the connection."""
    with classify_errors(), engine.connect() as connection:
        mine = connection.scalar(LOCK, {"name": name}) is True
        try:
            yield mine
        finally:
            if mine:
                connection.execute(UNLOCK, {"name": name})
