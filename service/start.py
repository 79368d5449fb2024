"""What is settled before the first record: which events are ours, and where the group begins."""

from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition
from sqlalchemy import Engine, text

from access.kafka_admin import Admin
from contract.events import EVENTS, Event
from contract.names import SUBSCRIBER
from service.consumer import Memory, RecordConsumer
from service.database import classify_errors, exit_if_missing, wait_out_refusals
from service.input_topic import find_topic, find_topic_id, remember
from service.kafka_errors import classify_errors as classify_kafka_errors
from service.kafka_errors import raise_first_error
from service.logs import exit_with_error
from service.outage import Retry
from service.settings import Settings

KAFKA_SECONDS = 10

# Insert first: the primary key decides which subscriber publishes an event type.
CLAIM_TYPES = text("""
    insert into publisher (event_type, subscriber)
    select event_type, :subscriber
    from unnest(cast(:event_types as text[])) as event_type
    order by event_type
    on conflict do nothing
""")
OTHER_PUBLISHERS = text("""
    select event_type, subscriber
    from publisher
    where event_type = any(:event_types) and subscriber <> :subscriber
    order by event_type
""")


def prepare(
    settings: Settings,
    engine: Engine,
    admin: Admin,
    consumer: RecordConsumer,
    events: Sequence[Event] = EVENTS,
) -> None:
    """Settle all, waiting out what is down; raise AbandonedError if asked to stop meanwhile."""
    retry = Retry(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds)
    claim = retry.wrap("start", claim_event_types)
    find = retry.wrap("start", find_memory)
    check = retry.wrap("start", check_offsets)
    choose = retry.wrap("start", choose_start)

    event_types = [event.event_type for event in events]
    claim(engine, settings.subscriber, event_types)
    consumer.memory = find(engine, admin, settings)
    check(consumer, settings)
    choose(consumer.consumer, settings)


def find_memory(engine: Engine, admin: Admin, settings: Settings) -> Memory:
    """Return what is known of the topic that is there now, or end the process if it is another."""
    topic_id = find_topic_id(admin, settings)
    topic = find_topic(engine, settings, topic_id)
    return remember(engine, admin, settings, topic)


def check_offsets(consumer: RecordConsumer, settings: Settings) -> None:
    """End the process if the group has lost its offsets; note where it has some."""
    with classify_kafka_errors(settings, "Kafka"):
        partitions = find_partitions(consumer.consumer, settings.input_topic)
        committed = consumer.consumer.committed(partitions, timeout=KAFKA_SECONDS)
        raise_first_error(committed)
    begun = [part.partition for part in committed if part.offset >= 0]
    consumer.memory.note_begun(begun)
    new = [part.partition for part in committed if part.offset < 0]
    if new:
        consumer.memory.refuse_gap(new)


def claim_event_types(
    engine: Engine,
    subscriber: str,
    event_types: Sequence[str],
    *,
    setting: str = "SUBSCRIBER",
    file: str = "contract/events.py",
) -> None:
    """Note that this subscriber publishes these event types, or end the process if another does.

    Two subscribers that publish the same event would give each message two effects downstream.
    """
    parameters = {"subscriber": subscriber, "event_types": list(event_types)}
    in_transaction = engine.execution_options(isolation_level="READ COMMITTED")
    with (
        wait_out_refusals(),
        exit_if_missing(),
        classify_errors(),
        in_transaction.connect() as connection,
    ):
        connection.execute(CLAIM_TYPES, parameters)
        taken = connection.execute(OTHER_PUBLISHERS, parameters).first()
        if taken is None:
            connection.commit()
    if taken is not None:
        exit_with_error(
            f"{setting}={subscriber}: {taken.event_type} is already published by subscriber"
            f" {taken.subscriber}; set {setting}={taken.subscriber}, or give this subscriber"
            f" events of its own in {file}"
        )


def choose_start(consumer: Consumer, settings: Settings) -> None:
    """Decide what a new group does with the records that are there, before it has a member.

    A partition without a committed offset is read from its beginning. START_FROM=end therefore
    commits the end of each partition, once: one that is added later is read from its beginning.
    """
    start_from = settings.start_from
    if start_from is None and settings.subscriber == SUBSCRIBER:
        start_from = "beginning"
    if start_from == "beginning":
        return
    with classify_kafka_errors(settings, "Kafka"):
        partitions = find_partitions(consumer, settings.input_topic)
        if has_committed(consumer, partitions):
            return
        is_empty = seek_to_end(consumer, partitions)
        if start_from is None and not is_empty:
            exit_with_error(
                f"START_FROM: group {settings.group_id} of subscriber {settings.subscriber} is new,"
                f" and {settings.input_topic} has records: set START_FROM=beginning to handle them,"
                " or START_FROM=end to handle only those that come from now on"
            )
        consumer.commit(offsets=partitions, asynchronous=False)


def find_partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """Return the partitions of a topic."""
    found = consumer.list_topics(topic, timeout=KAFKA_SECONDS).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return [TopicPartition(topic, number) for number in found.partitions]


def has_committed(consumer: Consumer, partitions: list[TopicPartition]) -> bool:
    """Return whether the group has ever committed an offset here."""
    committed = consumer.committed(partitions, timeout=KAFKA_SECONDS)
    return any(partition.offset >= 0 for partition in committed)


def seek_to_end(consumer: Consumer, partitions: list[TopicPartition]) -> bool:
    """Set each partition to its end, and return whether there was no record in any."""
    is_empty = True
    for partition in partitions:
        watermarks = consumer.get_watermark_offsets(partition, timeout=KAFKA_SECONDS)
        beginning, end = watermarks or (0, 0)
        partition.offset = end
        is_empty = is_empty and beginning == end
    return is_empty
