"""Kafka by its Admin API: whether what was acknowledged is kept, and whether events fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    ResourceType,
)

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.sizes import ALTER_TOPIC, is_routed_to
from pipeline_check.live.unseen import not_looked_at
from pipeline_check.reading.block import Block
from pipeline_check.rules.catalog import make_finding
from pipeline_check.rules.finding import Finding, Severity

TIMEOUT = 5  # seconds
DAY = 86_400_000  # ms: a reader that is repaired the next morning must find everything
CREATE_TOPIC = "kafka-topics.sh --bootstrap-server $KAFKA_BOOTSTRAP_SERVERS --create"
STORAGE = ("offset.storage.topic", "config.storage.topic", "status.storage.topic")
ERROR = Severity.ERROR


@dataclass(frozen=True)
class Topic:
    """A topic: how many copies it has, and its effective settings."""

    name: str
    replicas: int
    settings: Mapping[str, str]

    def number(self, key: str, default: int) -> int:
        """Return a setting that is a number."""
        return int(self.settings.get(key) or default)


@dataclass(frozen=True)
class Broker:
    """What Kafka answered."""

    brokers: int
    settings: Mapping[str, str]
    topics: Mapping[str, Topic] = field(default_factory=dict)


def read_broker(settings: Mapping[str, Any]) -> Broker:
    """Return everything that the rules look at; OSError if nobody answers, or lets us in."""
    reasons: list[str] = []
    note: Any = {"error_cb": lambda error: reasons.append(error.str())}
    client = AdminClient({**settings, "log_level": 0, **note})
    metadata = first_answer(client, reasons)
    names = [name for name in metadata.topics if not name.startswith("__")]
    broker_id = str(min(metadata.brokers))
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    resources.append(ConfigResource(ResourceType.BROKER, broker_id))
    answers = client.describe_configs(resources, request_timeout=TIMEOUT)
    of_each: dict[str, dict[str, str]] = {}
    for resource in resources:
        entries = answers[resource].result().values()
        of_each[resource.name] = {entry.name: str(entry.value) for entry in entries}
    topics = {}
    for name in names:
        partitions = metadata.topics[name].partitions.values()
        replicas = min(len(partition.replicas) for partition in partitions)
        topics[name] = Topic(name, replicas, of_each[name])
    return Broker(len(metadata.brokers), of_each[broker_id], topics)


def first_answer(client: AdminClient, reasons: list[str]) -> ClusterMetadata:
    """Return what there is; the reason why not comes by the callback alone."""
    try:
        return client.list_topics(timeout=TIMEOUT)
    except KafkaException as failure:
        client.poll(0)
        why = [*reasons, failure.args[0].str()]
        raise OSError(why[0]) from failure


def check_kafka(broker: Broker, outboxes: Sequence[Outbox]) -> Iterator[Finding]:
    """Check the brokers, every topic, and those that events go to."""
    yield from check_brokers(broker)
    for topic in broker.topics.values():
        yield from check_topic(topic, broker.brokers)
        if gets_events(topic, outboxes):
            yield from check_event_topic(topic)
    for outbox in outboxes:
        yield from check_heartbeat_topic(broker, outbox)


def check_brokers(broker: Broker) -> Iterator[Finding]:
    """Check that nothing creates topics by itself, and that there are several brokers."""
    name = "auto.create.topics.enable"
    if broker.settings.get(name) == "true":
        fix = f"{name}=false in the broker's file, and restart it"
        yield make_finding("broker-creates-topics", "broker", 0, f"{name}=true", fix)
    if broker.brokers == 1:
        yield not_looked_at(
            "broker",
            "replication: there is one broker, so acks=all is acks=1, and its disk is the only "
            "copy",
            "three brokers, replication.factor=3, min.insync.replicas=2",
        )


def check_topic(topic: Topic, brokers: int) -> Iterator[Finding]:
    """Check that what was acknowledged outlives one broker, and that it can be written at all."""
    place = f"broker/{topic.name}"
    copies = topic.replicas
    least = topic.number("min.insync.replicas", 1)
    if copies < 2 <= brokers:
        fix = f"kafka-reassign-partitions.sh, to three replicas of {topic.name}"
        yield make_finding("topic-one-replica", place, 0, "one replica", fix)
    elif least > copies or 1 < copies == least:
        says = f"min.insync.replicas={least} of {copies}"
        fix = alter_topic(topic, f"min.insync.replicas={max(1, copies - 1)}")
        yield make_finding("topic-insync-blocks", place, 0, says, fix)
    elif copies > least == 1:
        says = f"min.insync.replicas=1 of {copies}"
        fix = alter_topic(topic, "min.insync.replicas=2")
        yield make_finding("topic-acks-of-one", place, 0, says, fix)
    unclean = "unclean.leader.election.enable"
    if topic.settings.get(unclean) == "true":
        fix = alter_topic(topic, f"{unclean}=false")
        yield make_finding("topic-unclean-election", place, 0, f"{unclean}=true", fix)


def check_event_topic(topic: Topic) -> Iterator[Finding]:
    """Check that events stay for those who read them later."""
    place = f"broker/{topic.name}"
    if "compact" in topic.settings.get("cleanup.policy", ""):
        message = f"{topic.name} is compacted: of the events of one key only the last stays"
        fix = alter_topic(topic, "cleanup.policy=delete")
        yield Finding("topic-compacted", ERROR, place, 0, message, fix)
    kept = topic.number("retention.ms", -1)
    if 0 <= kept < DAY:
        fix = alter_topic(topic, "retention.ms=604800000")
        yield make_finding("topic-retention-short", place, 0, f"retention.ms={kept}", fix)


def check_heartbeat_topic(broker: Broker, outbox: Outbox) -> Iterator[Finding]:
    """Check that the topic of the heartbeat exists, where nothing creates it."""
    prefix = outbox.value("topic.heartbeat.prefix", "__debezium-heartbeat")
    name = f"{prefix}.{outbox.value('topic.prefix')}"
    has_heartbeat = outbox.value("heartbeat.interval.ms", "0") != "0"
    is_created = broker.settings.get("auto.create.topics.enable") == "true"
    if has_heartbeat and not is_created and name not in broker.topics:
        message = (
            f"{name} does not exist, and nobody makes it: the connector waits for it and publishes "
            "nothing"
        )
        fix = f"{CREATE_TOPIC} --topic {name}"
        yield Finding("heartbeat-topic-missing", ERROR, f"broker/{name}", 0, message, fix)


def check_worker_topics(broker: Broker, workers: Iterable[Block]) -> Iterator[Finding]:
    """Check that each worker has the topics of its own state, and that nothing in them expires."""
    for worker in workers:
        for setting in STORAGE:
            name = worker.known(setting)
            if name:
                yield from check_storage(broker, setting, name)


def check_storage(broker: Broker, setting: str, name: str) -> Iterator[Finding]:
    """Check one topic of a worker's state."""
    place = f"broker/{name}"
    topic = broker.topics.get(name)
    if topic is None:
        message = (
            f"{name} ({setting}) does not exist: the worker goes on with what it remembers, and "
            "stores nothing. Make it, then restart the worker; a connector without an offset goes "
            "on at its slot"
        )
        fix = f"{CREATE_TOPIC} --topic {name} --config cleanup.policy=compact"
        yield Finding("worker-topic-missing", ERROR, place, 0, message, fix)
    elif "compact" not in topic.settings.get("cleanup.policy", ""):
        message = f"{name} ({setting}) is not compacted: what a worker knows expires with the log"
        fix = alter_topic(topic, "cleanup.policy=compact")
        yield Finding("worker-topic-expires", ERROR, place, 0, message, fix)


def gets_events(topic: Topic, outboxes: Iterable[Outbox]) -> bool:
    """Return whether an outbox may send to this topic."""
    return any(is_routed_to(outbox, topic.name) for outbox in outboxes)


def alter_topic(topic: Topic, setting: str) -> str:
    """Return the command that changes a setting of a topic."""
    return f"{ALTER_TOPIC} --entity-name {topic.name} --add-config {setting}"
