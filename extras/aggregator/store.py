"""What Postgres knows of a partition: how far it is summed, what is open there, and whose message came first."""

from collections.abc import Iterable, Sequence

from pydantic_core import to_json
from sqlalchemy import Engine, text

from extras.aggregator.group import Group, Known, Place, Standing
from extras.aggregator.message import Message
from service.database import classify_errors

# One statement, so that position and groups are of one moment.
STAND = text("""
    select p.topic, p.partition, p."offset" as position, o."offset", o.batch_id
    from batch_position p left join open_batch o
        on o.topic = p.topic and o.partition = p.partition and o.complete_offset is null
    where p.topic = :topic and p.partition = any(:partitions)
""")
FIRST_SEEN = text("""
    insert into batch_position (topic, partition, "offset") select :topic, partition, 0
    from unnest(cast(:partitions as int[])) as partition order by partition on conflict do nothing
""")

# Insert first, ask never: the primary key decides whose message it is. Written again, it says the same.
TRACK = text("""
    insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
    select distinct on (message_id) :subscriber, message_id, sha256, topic, partition, "offset"
    from json_to_recordset(cast(:rows as json)) as m (
        n int, message_id text, sha256 bytea, topic text, partition int, "offset" bigint)
    order by message_id, n on conflict do nothing
""")
KNOWN = text("""
    select message_id, encode(value_sha256, 'hex'), topic, partition, "offset" from tracking
    where subscriber = :subscriber and message_id = any(:message_ids)
""")


def stand(engine: Engine, places: Iterable[Place]) -> dict[Place, Standing]:
    """Where partitions stand that are new to us; what is open there was begun by somebody else, and is missed."""
    positions: dict[Place, int] = {}
    missed: dict[Place, dict[str, Group]] = {}
    by_topic = {topic: sorted(n for other, n in places if other == topic) for topic, _ in places}
    with classify_errors(), engine.connect() as connection:
        for topic, partitions in by_topic.items():
            asked = {"topic": topic, "partitions": partitions}
            connection.execute(FIRST_SEEN, asked)
            for row in connection.execute(STAND, asked):
                place = (row.topic, row.partition)
                positions[place] = row.position
                if row.batch_id is not None:
                    missed.setdefault(place, {})[row.batch_id] = Group(
                        row.batch_id, *place, row.offset
                    )
    return {
        place: Standing(position, {}, missed.get(place, {}))
        for place, position in positions.items()
    }


def track(engine: Engine, subscriber: str, messages: Sequence[Message]) -> dict[str, Known]:
    """Note each message, unless its id is known; and what is now known of each id."""
    rows = [
        {"n": n, "message_id": m.message_id, "sha256": f"\\x{m.sha256}", **m.record.place}
        for n, m in enumerate(messages)
    ]
    with classify_errors(), engine.connect() as connection:
        connection.execute(TRACK, {"subscriber": subscriber, "rows": to_json(rows).decode()})
    return known(engine, subscriber, [m.message_id for m in messages])


def known(engine: Engine, subscriber: str, message_ids: Sequence[str]) -> dict[str, Known]:
    """What tracking holds of these message ids."""
    asked = {"subscriber": subscriber, "message_ids": list(message_ids)}
    with classify_errors(), engine.connect() as connection:
        return {key: Known(*rest) for key, *rest in connection.execute(KNOWN, asked)}
