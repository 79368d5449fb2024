"""A high-water mark: the highest sequence number of each partition, and nothing else however many messages come."""

import re

from pydantic_core import to_json
from sqlalchemy import Engine, text

from service.database import classify_errors
from service.dedup import DedupStore, InTransaction, Write
from service.outage import OutageError

# One conditional update of each mark, which also returns what the mark was (PostgreSQL 18); a mark that is not
# raised returns nothing. Fresh is what is above it, and above everything before it in its batch.
FRESH = """
    raised as (
        insert into watermark as w (subscriber, topic, partition, sequence)
        select :subscriber, topic, partition, max(sequence)
        from item where is_message group by topic, partition order by topic, partition
        on conflict (subscriber, topic, partition) do update set sequence = excluded.sequence
        where w.sequence < excluded.sequence
        returning topic, partition, coalesce(old.sequence, -1) as mark
    ), numbered as (
        select message_id, topic, partition, sequence, max(sequence) over (
            partition by topic, partition order by "offset" rows between unbounded preceding and 1 preceding) as before
        from item where is_message
    ), fresh as (
        select message_id from numbered join raised using (topic, partition) where sequence > greatest(mark, before)
    )
"""

MARKS = text("""
    select subscriber, sequence from watermark where topic = :topic and partition = :partition order by subscriber
""")


def make_store(write: Write) -> DedupStore:
    """A lower number that comes late is dropped, counted and logged: numbers must increase in each partition."""
    return InTransaction(write, FRESH, needs_sequence=True)


def page(engine: Engine, path: str) -> tuple[int, str] | None:
    """GET /watermarks/{topic}/{partition}: the mark of each subscriber there."""
    if not (asked := re.fullmatch("/watermarks/([^/]+)/([^/]+)", path)):
        return None
    topic, partition = asked.groups()
    if not re.fullmatch("[0-9]{1,9}", partition):
        return (
            400,
            f"{partition} is no partition: give /watermarks/{{topic}}/{{partition}} a number\n",
        )
    try:
        with classify_errors(), engine.connect() as connection:
            marks = connection.execute(MARKS, {"topic": topic, "partition": int(partition)}).all()
    except OutageError:
        return 503, "the database does not answer\n"
    if not marks:
        return 404, f"no subscriber has handled a record of {topic}/{partition}\n"
    found = {"topic": topic, "partition": int(partition), "marks": dict(map(tuple, marks))}
    return 200, to_json(found).decode() + "\n"
