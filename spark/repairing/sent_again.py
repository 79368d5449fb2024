"""Repairs that send something again: events, audit entries, and records of the input topic."""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import psycopg
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from psycopg.conninfo import make_conninfo
from pyspark.sql import Row, SparkSession

from access.kafka import kafka_connection
from contract.audit import AuditBody
from contract.events import EVENTS
from contract.names import DATABASE, OTHER_OUTBOXES
from spark.kafka.positions import committed_offsets
from spark.lake.landed_tables import table_path
from spark.repairing.landed_repairs import Problems, condition, group_by_topic
from spark.repairing.repair_log import connect
from spark.settings import Settings

UNPUBLISHED = (
    "the slot or the publication of its outbox is not there, and it would be skipped again:"
    " pipeline check --live prints the way back"
)
AT_ONCE = 500  # events in one transaction
HEADER = "repair_of"  # on a record that is sent again: the position of the first one
FLUSH_SECONDS = 30
MOMENT = 0.2

WILL_BE_PUBLISHED = """
    select
        exists (
            select from pg_replication_slots
            where slot_name = %s and database = current_database() and wal_status <> 'lost'
        )
        and exists (
            select from pg_publication_tables
            join pg_publication using (pubname)
            where pubname = 'outbox' and tablename = 'outbox' and pubinsert
        )
"""
RESEND = "select resend(%s::uuid[])"
KNOWN = "select event_id::text from outbox where event_id = any(%s::uuid[])"

# What the audit receiver was sent, or would have been: the deciding event says the same.
DECIDING_EVENTS = """
    select event_type, payload
    from outbox
    where event_type = any(%s) and payload->>'message_id' = any(%s)
"""
PUT_ASIDE = """
    insert into audit_failure (
        subscriber, message_id, topic, partition, "offset", body, reason, retry_at
    )
    select
        subscriber, message_id, topic, partition, "offset", body, 'missing, sent again', now()
    from tracking
    join json_to_recordset(%s) as entry (message_id text, body json) using (message_id)
    where subscriber = %s
    on conflict (subscriber, message_id) do update
    set retry_at = now()
    returning message_id
"""


def resend_events(settings: Settings, topics: Mapping[str, str]) -> Problems:
    """Send events again, given as the topic of each event id, with the same ids and bytes."""
    of_database = defaultdict(list)
    for event_id, topic in sorted(topics.items()):
        of_database[OTHER_OUTBOXES.get(topic, DATABASE)].append(event_id)
    problems: Problems = {}
    for database, event_ids in of_database.items():
        url = settings.databases()[database]
        with connect(url, settings.resender_password_file) as session:
            if not will_be_published(session, database):
                problems |= dict.fromkeys(event_ids, UNPUBLISHED)
                continue
            known = {event_id for (event_id,) in session.execute(KNOWN, [event_ids])}
            for start in range(0, len(event_ids), AT_ONCE):
                session.execute(RESEND, [event_ids[start : start + AT_ONCE]])
        for event_id in set(event_ids) - known:
            problems[event_id] = f"it is not in the outbox of {database} any more"
    return problems


def will_be_published(session: psycopg.Connection, database: str) -> bool:
    """Return whether there is a slot that can go on, and a publication with what is inserted."""
    found = session.execute(WILL_BE_PUBLISHED, [f"{database}_outbox"])
    [(is_published,)] = found
    return bool(is_published)


def send_entries(settings: Settings, message_ids: Iterable[str]) -> Problems:
    """Put the entries of these messages aside: the service sends them again, under their keys."""
    wanted = sorted(message_ids)
    made = make_bodies(settings, wanted)
    entries = [{"message_id": body["message_id"], "body": body} for body in made]
    with connect(settings.database_url, settings.resender_password_file) as session:
        given = [json.dumps(entries), settings.subscriber]
        put_aside = {message_id for (message_id,) in session.execute(PUT_ASIDE, given)}
    left = set(wanted) - put_aside
    return dict.fromkeys(left, "its tracking row or its event is not there any more")


def make_bodies(settings: Settings, message_ids: Sequence[str]) -> list[dict[str, str | None]]:
    """Return what the audit receiver is sent about these messages."""
    outcomes = {event.event_type: event.outcome for event in EVENTS if event.outcome}
    password = settings.reconciler_password_file.read_text().strip()
    address = make_conninfo(settings.database_url, user="reconciler", password=password)
    with psycopg.connect(address) as session:
        rows = session.execute(DECIDING_EVENTS, [list(outcomes), list(message_ids)]).fetchall()
    made = []
    for event_type, payload in rows:
        said = {**payload, "outcome": outcomes[event_type]}
        body = {field: said.get(field) for field in AuditBody.__annotations__}
        made.append(body)
    return made


def hand_over(
    spark: SparkSession, settings: Settings, positions: Iterable[str], deadline: float
) -> Problems:
    """Send landed records to the input topic again, and wait until the service has handled them.

    Each goes to its own partition. The service takes it for a redelivery if it knows the message.
    """
    problems: Problems = dict.fromkeys(positions, "it has not landed")
    sent: dict[str, tuple[int, int]] = {}

    producer = Producer(
        {
            **kafka_connection(settings.kafka_bootstrap_servers),
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 5,  # what idempotence makes of it anyway
            "partitioner": "murmur2_random",  # as all producers here; each record names its own
        }
    )
    for topic, offsets in group_by_topic(problems).items():
        table = spark.read.format("delta").load(table_path(settings.delta_root, topic))
        rows = table.where(condition(offsets)).dropDuplicates(["partition", "offset"])
        for row in rows.orderBy("partition", "offset").toLocalIterator():
            send_record(producer, row, sent)
    if producer.flush(FLUSH_SECONDS):
        raise KafkaException("some records were not acknowledged: run repair again")
    for position in sent:
        del problems[position]
    waiting = wait_until_handled(settings, sent, deadline)
    return problems | dict.fromkeys(waiting, "sent, but the service has not handled it yet")


def send_record(producer: Producer, row: Row, sent: dict[str, tuple[int, int]]) -> None:
    """Send a landed record as it came, with a header that says of which it is the repair."""
    position = f"{row.topic}/{row.partition}/{row.offset}"
    headers = [(header.key, as_bytes(header.value)) for header in row.headers or []]

    def note(error: KafkaError | None, message: Message) -> None:
        if error is None:
            sent[position] = (message.partition() or 0, message.offset() or 0)

    producer.produce(
        row.topic,
        as_bytes(row.value),
        as_bytes(row.key),
        row.partition,
        headers=[*headers, (HEADER, position.encode())],
        on_delivery=note,
    )
    producer.poll(0)


def as_bytes(content: bytearray | None) -> bytes | None:
    """Return what Spark has read as what the producer takes."""
    return None if content is None else bytes(content)


def wait_until_handled(
    settings: Settings, sent: Mapping[str, tuple[int, int]], deadline: float
) -> list[str]:
    """Return the positions whose repair the group has not committed at the deadline."""
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    waiting = list(sent)
    while waiting:
        committed = committed_offsets(admin, settings.group_id, settings.input_topic)
        left = []
        for position in waiting:
            partition, offset = sent[position]
            if committed.get(partition, 0) <= offset:
                left.append(position)
        waiting = left
        if time.monotonic() > deadline:
            break
        time.sleep(MOMENT)
    return waiting
