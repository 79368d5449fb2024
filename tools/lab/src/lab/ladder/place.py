"""Where the ladder stands: a stack of its own, whose broker has a proxy before it, and empty for each cell."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.bench.place import administer
from lab.bench.place import clear as clear_tables
from lab.prove.place import own_stack
from lab.prove.proxy import Proxy
from ops.settings import Settings
from ops.stack.stack import Stack, Step

PARTS = ("postgres", "kafka", "connect", "audit")
# What the lower steps write; only tracking has a key, for that is all that it is.
TABLES = """
    create schema ladder;
    create table ladder.tracking (message_id text primary key);
    create table ladder.fulfillment (message_id text not null, order_id text not null);
    create table ladder.audit_entry (message_id text not null);
    grant usage on schema ladder to app;
    grant select, insert on all tables in schema ladder to app;
"""
END = -1  # everything that a partition holds


@contextmanager
def place(settings: Settings, step: Step) -> Iterator[tuple[Stack, Proxy]]:
    """A stack in a folder of its own, so that no other data is touched; gone afterwards."""
    own = settings.model_copy(
        update={"run_dir": settings.run_dir / "ladder", "jars_dir": settings.jars}
    )
    with own_stack(own, step, PARTS) as (stack, proxy):
        with administer(stack.env(), "DATABASE_URL") as admin:
            admin.execute(TABLES)
        yield stack, proxy


def clear(env: Mapping[str, str]) -> None:
    """Nothing in the tables, on the topics or in the lake, and nobody remembers how far the service had come."""
    clear_tables(dict(env))
    with administer(dict(env), "DATABASE_URL") as admin:
        admin.execute("truncate ladder.tracking, ladder.fulfillment, ladder.audit_entry")
    kafka = AdminClient({"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"], "log_level": 0})
    known = {
        name: topic
        for name, topic in kafka.list_topics(timeout=10).topics.items()
        if name.endswith(".events")
    }
    parts = [
        TopicPartition(name, number, END)
        for name, topic in known.items()
        for number in topic.partitions
    ]
    for emptied in kafka.delete_records(parts).values():
        emptied.result(30)
    try:
        kafka.delete_consumer_groups([env["GROUP_ID"]])[env["GROUP_ID"]].result(30)
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
    shutil.rmtree(env["DELTA_ROOT"], ignore_errors=True)
