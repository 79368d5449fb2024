"""A high-water mark: the highest sequence number of each partition, however many messages come."""

import re

from pydantic_core import to_json
from sqlalchemy import Engine, text

from service.database import classify_errors
from service.dedup import NOTE_DROPPED, DedupStore, InTransaction, Write
from service.outage import OutageError, RefusedError

# One conditional update of each mark, which also returns what the mark was (PostgreSQL 18); a mark
# that is not raised returns nothing. Fresh is what is above it, and above everything before it in
# its batch.
FRESH = """
raised as (
    insert into watermark as mark (subscriber, topic, partition, sequence)
    select :subscriber, topic, partition, max(sequence)
    from item
    where is_message
    group by topic, partition
    order by topic, partition
    on conflict (subscriber, topic, partition) do update set
        sequence = excluded.sequence
    where mark.sequence < excluded.sequence
    returning topic, partition, coalesce(old.sequence, -1) as known
),

numbered as (
    select
        message_id,
        topic,
        partition,
        sequence,
        max(sequence) over (
            partition by topic, partition
            order by "offset"
            rows between unbounded preceding and 1 preceding
        ) as before
    from item
    where is_message
),

fresh as (
    select message_id
    from numbered
    join raised using (topic, partition)
    where sequence > greatest(known, before)
)
"""

MARKS = text("""
    select subscriber, sequence
    from watermark
    where topic = :topic and partition = :partition
    order by subscriber
""")

PATH = re.compile("/watermarks/([^/]+)/([^/]+)")
PARTITION = re.compile("[0-9]{1,9}")


def make_store(write: Write) -> DedupStore:
    """Return a store that drops and counts a lower number: each partition's have to increase."""
    return InTransaction(write, FRESH.rstrip() + NOTE_DROPPED, needs_sequence=True)


def page(engine: Engine, path: str) -> tuple[int, str] | None:
    """Answer GET /watermarks/{topic}/{partition} with the mark of each subscriber there."""
    path_parts = PATH.fullmatch(path)
    if path_parts is None:
        return None
    topic, partition = path_parts.groups()
    if not PARTITION.fullmatch(partition):
        return (
            400,
            f"{partition} is no partition: give /watermarks/{{topic}}/{{partition}} a number\n",
        )
    parameters = {"topic": topic, "partition": int(partition)}
    try:
        with classify_errors(), engine.connect() as connection:
            marks = connection.execute(MARKS, parameters).all()
    except OutageError:
        return 503, "the database does not answer\n"
    except RefusedError as refusal:
        return 503, f"{refusal}\n"
    if not marks:
        return 404, f"no subscriber has handled a record of {topic}/{partition}\n"
    document = parameters | {"marks": {mark.subscriber: mark.sequence for mark in marks}}
    return 200, to_json(document).decode() + "\n"
