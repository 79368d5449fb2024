"""The servers of the columns without Postgres: another service, and each column's own tables."""

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import requests
from confluent_kafka import Consumer, TopicPartition

from extras.dynamodb.outbox.connection import Clients, connect
from extras.dynamodb.outbox.leases import Leases
from extras.dynamodb.outbox.publish import Publisher, make_publisher
from extras.dynamodb.outbox.relay import Relay, wire
from extras.dynamodb.outbox.settings import Settings
from extras.dynamodb.outbox.stream import Stream, find_stream
from extras.dynamodb.outbox.tables import describe_tables, make_table
from lab.dedup_matrix.alone import Column
from lab.environment import make_topic
from ops.fault_proxy import Request, StubServer
from service.consumer import to_record
from service.record import Record

SECONDS = 30  # for a relay, a request or a look at the topic: none takes a tenth of it


class Asked(NamedTuple):
    """Another service, and how often it was asked what."""

    url: str
    counts: Counter[str]

    def ask(self, question: str) -> None:
        """Ask it something."""
        requests.post(self.url, json.dumps(question), timeout=SECONDS).raise_for_status()


@contextmanager
def other_service() -> Iterator[Asked]:
    """Run the service that workers ask."""
    counts: Counter[str] = Counter()

    def answer(request: Request, body: bytes) -> None:
        counts.update([json.loads(body)])
        request.answer(200, b"{}")

    with StubServer(answer) as server:
        yield Asked(server.url, counts)


class Place(NamedTuple):
    """The tables of one column and subscriber, their topic, and the relay between."""

    settings: Settings
    clients: Clients
    publisher: Publisher
    relay: Relay

    def publish_outbox(self) -> None:
        """Let the relay publish all that is in the outbox."""
        deadline = time.monotonic() + SECONDS
        missing = self.in_outbox() - self.published().keys()
        while missing:
            self.relay.turn()
            missing = self.in_outbox() - self.published().keys()
            if missing and time.monotonic() > deadline:
                raise TimeoutError(f"the relay has not published {sorted(missing)[:3]}")

    def in_outbox(self) -> set[str]:
        """Return the id of each event in the outbox, dead letters left out."""
        items = self.clients.tables.scan(
            TableName=self.settings.tally_outbox_table, ConsistentRead=True
        )["Items"]
        return {item["event_id"] for item in items if item["topic"] == self.settings.tally_topic}

    def published(self) -> dict[str, str]:
        """Return the message id of each event on the topic, by the event's id."""
        place = TopicPartition(self.settings.tally_topic, 0, 0)
        consumer = Consumer(
            {
                "bootstrap.servers": self.settings.kafka_bootstrap_servers,
                "group.id": self.settings.tally_topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.assign([place])
        _, end = consumer.get_watermark_offsets(place, timeout=SECONDS)
        found: list[Record] = []
        while len(found) < end:
            found += map(to_record, consumer.consume(end - len(found), timeout=SECONDS))
        consumer.close()
        return dict(map(ids_of, found))

    def amount(self, order_id: str) -> int:
        """Return what an entity has summed up."""
        found = self.clients.tables.get_item(
            TableName=self.settings.tally_table, Key={"id": order_id}, ConsistentRead=True
        )
        return int(found.get("Item", {}).get("total", 0))

    def delete_claim(self, message_id: str) -> None:
        """Delete the claim of a message, if there are any."""
        if not self.settings.is_numbered:
            self.clients.tables.delete_item(
                TableName=self.settings.tally_claim_table, Key={"message_id": message_id}
            )


def ids_of(record: Record) -> tuple[str, str]:
    """Return the id of an event, and that of the message that it is about."""
    [event_id] = record.header_values("id")
    return event_id.decode(), json.loads(record.value or b"")["message_id"]


def make_place(column: Column, bootstrap_servers: str) -> Place:
    """Make tables and a topic that nobody else has."""
    name = f"alone-{uuid.uuid4().hex[:12]}"
    settings = Settings(
        kafka_bootstrap_servers=bootstrap_servers,
        dynamodb_dedup=column.dedup,
        tally_topic=name,
        tally_dead_letter_topic=f"{name}-dead",
        tally_table=name,
        tally_claim_table=f"{name}-claim",
        tally_outbox_table=f"{name}-outbox",
        tally_shard_table=f"{name}-shard",
    )
    clients = connect(settings)
    for table in describe_tables(settings):
        make_table(clients.tables, table)
    for topic in (settings.tally_topic, settings.tally_dead_letter_topic):
        make_topic(bootstrap_servers, topic, partitions=1)
    publisher = make_publisher(settings)
    stream = Stream(clients.streams, find_stream(clients, settings), settings.relay_records)
    leases = Leases(clients.tables, settings)
    relay = Relay(stream, leases, wire(stream, leases, publisher))
    return Place(settings, clients, publisher, relay)
