"""The ladder's stack: a proxy before the broker, tables for the lower steps, no data at first."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.environment import connect_as_admin, empty_tables, proxied_stack
from lab.kafka_proxy import KafkaProxy
from lab.ladder.refusals import REFUSE
from ops.settings import Settings
from ops.stack.stack import Stack, Step

PARTS = ("postgres", "kafka", "connect", "audit")
# What the lower steps write; only tracking has a key, because it is nothing but a key.
TABLES = """
    create schema ladder;
    create table ladder.tracking (
        message_id text primary key
    );
    create table ladder.fulfillment (
        message_id text not null,
        order_id   text not null
    );
    create table ladder.audit_entry (
        message_id text not null
    );
    grant usage on schema ladder to app;
    grant select, insert on all tables in schema ladder to app;
"""
TRUNCATE = """
    truncate ladder.tracking, ladder.fulfillment, ladder.audit_entry,
        -- The group is new in each cell: what Postgres remembers of it would be a gap.
        input_topic, input_partition
"""
END = -1  # everything that a partition holds


@contextmanager
def ladder_stack(settings: Settings, step: Step) -> Iterator[tuple[Stack, KafkaProxy]]:
    """Run the stack on which the cells are measured one after the other."""
    with proxied_stack(settings, step, "ladder", PARTS) as (stack, proxy):
        with connect_as_admin(stack.env(), "DATABASE_URL") as admin:
            admin.execute(TABLES)
            admin.execute(REFUSE.encode())
        yield stack, proxy


def empty(env: Mapping[str, str]) -> None:
    """Empty tables, topics and lake, and forget the offsets of the service's group."""
    empty_tables(dict(env))
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        admin.execute(TRUNCATE)
    servers = env["KAFKA_BOOTSTRAP_SERVERS"]
    kafka = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    empty_topics(kafka)
    forget_group(kafka, env["GROUP_ID"])
    shutil.rmtree(env["DELTA_ROOT"], ignore_errors=True)


def empty_topics(kafka: AdminClient) -> None:
    """Delete every record of every topic of events."""
    partitions = []
    for name, topic in kafka.list_topics(timeout=10).topics.items():
        if name.endswith(".events"):
            partitions += [TopicPartition(name, number, END) for number in topic.partitions]
    for emptied in kafka.delete_records(partitions).values():
        emptied.result(30)


def forget_group(kafka: AdminClient, group: str) -> None:
    """Delete the group, if there is one."""
    try:
        kafka.delete_consumer_groups([group])[group].result(30)
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
