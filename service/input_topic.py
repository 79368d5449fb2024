"""The topic that is there now, and what the group has read of it: a first start is not a gap.

Kafka forgets: a group's offsets expire, and a topic that was deleted and created again begins at
zero under the same name. Postgres remembers which topic was read, and which partitions were begun.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, NoReturn

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from sqlalchemy import Connection, Engine, text

from access.kafka_admin import Admin, wait_for
from service.consumer import Memory
from service.database import classify_errors, exit_if_missing, wait_out_refusals
from service.kafka_errors import classify_errors as classify_kafka_errors
from service.logs import exit_with_error
from service.settings import Settings

BROKER_SECONDS = 2.0
URL_SAFE = str.maketrans("/+", "_-")  # as Kafka's own tools write ids; a slash ends a name

TOPICS = text("""
    select
        input_topic.name,
        topic_id,
        exists (
            select 1
            from input_partition
            where input_partition.name = input_topic.name and group_id = :group_id
        ) as was_read
    from input_topic
    where topic = :topic
    order by seen_at
""")
NOTE_TOPIC = text("""
    insert into input_topic (topic, topic_id, name)
    values (:topic, :topic_id, :name)
    on conflict do nothing
""")
NOTE_PARTITIONS = text("""
    insert into input_partition (group_id, name, partition)
    select :group_id, :name, partition
    from unnest(cast(:partitions as int[])) as partition
    order by partition
    on conflict do nothing
""")
BEGUN = text("""
    select partition
    from input_partition
    where group_id = :group_id and name = :name
""")
# Of a database that is older than these tables: its tracking rows say which topic was read. Of a
# large table a few thousand rows are enough, as they are of one topic.
WAS_HANDLED = text("""
    select
        not exists (select 1 from input_partition where name = :name)
        and exists (
            select 1
            from (select topic from tracking where subscriber = :subscriber limit 10000) as sample
            where topic = :name
        )
""")

RECREATED = (
    "service: {topic} was deleted and created again: its id is {topic_id}, and group {group} has"
    " read {known}. Records of the earlier topic that were not handled are lost."
)
LOST = (
    "service: group {group} has no offset in {places} any more, although it has read there: its"
    " offsets have expired or were deleted. Records that the topic has deleted since then are lost."
)
WAY_OUT = (
    " python -m service.offsets shows where it stands; with --accept-loss the group goes on at the"
    " beginning of what is there, and recognizes what it has handled."
)


class InputTopic(NamedTuple):
    """One incarnation of the input topic."""

    topic: str  # Kafka's name
    topic_id: str
    name: str  # what its records are called: in our tables, ids and events


class Seen(NamedTuple):
    """The incarnations of the topic that were seen, the latest last."""

    topic: str
    names: dict[str, str]  # by topic id
    read: list[str]  # the ids of those that this group has begun to read

    def is_other(self, topic_id: str) -> bool:
        """Return whether the group has read another one, and not this."""
        return bool(self.read) and topic_id not in self.read

    def name(self, topic_id: str) -> InputTopic:
        """Return this topic with the name of its records.

        The first one's are called as ever: what was written before its id was known stays valid.
        """
        first_name = f"{self.topic}@{topic_id}" if self.names else self.topic
        return InputTopic(self.topic, topic_id, self.names.get(topic_id, first_name))


@contextmanager
def connect(engine: Engine) -> Iterator[Connection]:
    """Connect; a table that is missing ends the process, and every other error is an outage."""
    with wait_out_refusals(), exit_if_missing(), classify_errors(), engine.connect() as connection:
        yield connection


def find_topic_id(admin: Admin, settings: Settings) -> str:
    """Return the id of the topic that is there now, or end the process if there is none."""
    with classify_kafka_errors(settings, "topic"):
        return admin.ask(partial(ask_topic_id, topic=settings.input_topic))


def ask_topic_id(admin: AdminClient, topic: str) -> str:
    """Return the id that the controller knows.

    The client waits for the broker that it takes for the controller, even if that is gone for good;
    a new client asks who it is.
    """
    answers = admin.describe_topics(TopicCollection([topic]), request_timeout=BROKER_SECONDS)
    found = wait_for(answers[topic], 2 * BROKER_SECONDS)
    return str(found.topic_id).translate(URL_SAFE)


def find_seen(engine: Engine, settings: Settings) -> Seen:
    """Return what is known of the topics of this name."""
    parameters = {"topic": settings.input_topic, "group_id": settings.group_id}
    with connect(engine) as connection:
        rows = connection.execute(TOPICS, parameters).all()
    names = {row.topic_id: row.name for row in rows}
    read = [row.topic_id for row in rows if row.was_read]
    return Seen(settings.input_topic, names, read)


def find_topic(engine: Engine, settings: Settings, topic_id: str) -> InputTopic:
    """Return the topic that is there now; end the process if the group has read another one."""
    seen = find_seen(engine, settings)
    if seen.is_other(topic_id):
        stop_recreated(settings, topic_id, seen.read[-1])
    topic = seen.name(topic_id)
    if topic_id not in seen.names:
        note_topic(engine, topic)
    return topic


def note_topic(engine: Engine, topic: InputTopic) -> None:
    """Note a topic and what its records are called, if that was not known."""
    with connect(engine) as connection:
        connection.execute(NOTE_TOPIC, topic._asdict())


def note_partitions(engine: Engine, group: str, name: str, numbers: Iterable[int]) -> None:
    """Note that the group has an offset in these partitions."""
    parameters = {"group_id": group, "name": name, "partitions": list(numbers)}
    with connect(engine) as connection:
        connection.execute(NOTE_PARTITIONS, parameters)


def refuse_gap(engine: Engine, settings: Settings, name: str, uncommitted: Sequence[int]) -> None:
    """End the process if the group had an offset in one of these partitions, and has none now."""
    lost = find_lost(engine, settings, name, uncommitted)
    if lost:
        places = ", ".join(f"{settings.input_topic}/{number}" for number in lost)
        sentence = LOST.format(group=settings.group_id, places=places)
        exit_with_error(sentence + WAY_OUT)


def find_lost(
    engine: Engine, settings: Settings, name: str, uncommitted: Sequence[int]
) -> list[int]:
    """Return those of these partitions that the group has begun to read."""
    parameters = {
        "group_id": settings.group_id,
        "subscriber": settings.subscriber,
        "name": name,
    }
    with connect(engine) as connection:
        rows = connection.execute(BEGUN, parameters)
        begun = {row.partition for row in rows}
        was_handled = not begun and connection.scalar(WAS_HANDLED, parameters)
    if was_handled:
        return list(uncommitted)
    return [number for number in uncommitted if number in begun]


def remember(engine: Engine, admin: Admin, settings: Settings, topic: InputTopic) -> Memory:
    """Return what the consumer must know and ask of this topic."""
    return Memory(
        name=topic.name,
        confirm=partial(confirm, admin, settings, topic),
        refuse_gap=partial(refuse_gap, engine, settings, topic.name),
        note_begun=partial(note_partitions, engine, settings.group_id, topic.name),
    )


def confirm(admin: Admin, settings: Settings, known: InputTopic) -> None:
    """End the process if the topic was created again since the start, or raise an OutageError.

    Asked after a batch was read and before it is written, it says whose records these are: an id
    that is gone never comes back.
    """
    topic_id = find_topic_id(admin, settings)
    if topic_id != known.topic_id:
        stop_recreated(settings, topic_id, known.topic_id)


def stop_recreated(settings: Settings, topic_id: str, known: str) -> NoReturn:
    """End the process because the topic is not the one that the group has read."""
    sentence = RECREATED.format(
        topic=settings.input_topic, topic_id=topic_id, group=settings.group_id, known=known
    )
    exit_with_error(sentence + WAY_OUT)
