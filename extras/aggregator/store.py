"""What Postgres knows of a partition and its messages: position, open groups, who was first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import to_json
from sqlalchemy import CursorResult, Engine, text

from extras.aggregator.group import FirstMessage, Group, Partition, PartitionState
from extras.aggregator.message import Message
from service.database import classify_errors, exit_if_missing

FIRST_SEEN = text("""
    insert into batch_position (topic, partition, "offset")
    select :topic, partition, 0
    from unnest(cast(:partitions as int[])) as partition
    order by partition
    on conflict do nothing
""")

# One statement, so that position and groups are of one moment.
STATE = text("""
    select
        p.topic,
        p.partition,
        p."offset" as position,
        o."offset",
        o.batch_id
    from batch_position p
    left join open_batch o
        on o.topic = p.topic and o.partition = p.partition and o.complete_offset is null
    where p.topic = :topic and p.partition = any(:partitions)
""")

# Insert first, ask never: the primary key decides whose message it is. Written again, it says the
# same.
TRACK = text("""
    insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
    select distinct on (message_id)
        :subscriber, message_id, sha256, topic, partition, "offset"
    from json_to_recordset(cast(:rows as json)) as message (
        n int, message_id text, sha256 bytea, topic text, partition int, "offset" bigint
    )
    order by message_id, n
    on conflict do nothing
""")
FIRST_MESSAGES = text("""
    select message_id, encode(value_sha256, 'hex'), topic, partition, "offset"
    from tracking
    where subscriber = :subscriber and message_id = any(:message_ids)
""")


def load_states(engine: Engine, partitions: Iterable[Partition]) -> dict[Partition, PartitionState]:
    """Return the state of partitions that are new to us; what is open there is missed."""
    numbers = defaultdict(list)
    for topic, number in sorted(partitions):
        numbers[topic].append(number)
    states: dict[Partition, PartitionState] = {}
    with exit_if_missing(), classify_errors(), engine.connect() as connection:
        for topic, asked in numbers.items():
            parameters = {"topic": topic, "partitions": asked}
            connection.execute(FIRST_SEEN, parameters)
            rows = connection.execute(STATE, parameters)
            states |= as_states(rows)
    return states


def as_states(rows: CursorResult[Any]) -> dict[Partition, PartitionState]:
    """Return the state of each partition; every row has its position, and an open group or none."""
    positions = {}
    missed: dict[Partition, dict[str, Group]] = defaultdict(dict)
    for row in rows:
        partition = (row.topic, row.partition)
        positions[partition] = row.position
        if row.batch_id is not None:
            group = Group(row.batch_id, row.topic, row.partition, row.offset)
            missed[partition][row.batch_id] = group
    states = {}
    for partition, position in positions.items():
        states[partition] = PartitionState(position, {}, missed[partition])
    return states


def track(engine: Engine, subscriber: str, messages: Sequence[Message]) -> dict[str, FirstMessage]:
    """Note each message whose id is new, and return which message of each id came first."""
    rows = []
    for n, message in enumerate(messages):
        row = {
            "n": n,
            "message_id": message.message_id,
            "sha256": f"\\x{message.sha256}",
            **message.record.place,
        }
        rows.append(row)
    parameters = {"subscriber": subscriber, "rows": to_json(rows).decode()}
    with classify_errors(), engine.connect() as connection:
        connection.execute(TRACK, parameters)
    message_ids = [message.message_id for message in messages]
    return find_first(engine, subscriber, message_ids)


def find_first(
    engine: Engine, subscriber: str, message_ids: Sequence[str]
) -> dict[str, FirstMessage]:
    """Return which message of each of these ids came first."""
    parameters = {"subscriber": subscriber, "message_ids": list(message_ids)}
    first_messages = {}
    with classify_errors(), engine.connect() as connection:
        rows = connection.execute(FIRST_MESSAGES, parameters)
        for message_id, *message in rows:
            first_messages[message_id] = FirstMessage(*message)
    return first_messages
