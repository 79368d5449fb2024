"""The broker and its topics, by the Admin API: whether what was acknowledged is kept, and whether events fit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from ops.check.connector.outbox import Outbox
from ops.check.connector.sizes import CONFIGS, routed
from ops.check.finding import Finding, Severity
from ops.check.live.unseen import not_looked_at
from ops.check.rules import finding

TIMEOUT = 5
DAY = 86_400_000  # a reader that is repaired the next morning must find everything
ERROR = Severity.ERROR


@dataclass(frozen=True)
class Topic:
    """A topic: how often it is kept, and its effective settings."""

    name: str
    replicas: int
    settings: Mapping[str, str]

    def number(self, key: str, default: int) -> int:
        """A setting that is a number."""
        return int(self.settings.get(key) or default)


@dataclass(frozen=True)
class Broker:
    """What was asked."""

    brokers: int
    settings: Mapping[str, str]
    topics: Mapping[str, Topic] = field(default_factory=dict)


def read(bootstrap: str) -> Broker:
    """Everything that the rules look at; KafkaException if nobody answers."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    metadata = client.list_topics(timeout=TIMEOUT)
    names = [name for name in metadata.topics if not name.startswith("__")]
    first = str(min(metadata.brokers))
    asked = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    of_broker = ConfigResource(ResourceType.BROKER, first)
    told = client.describe_configs([*asked, of_broker], request_timeout=TIMEOUT)
    found = {one.name: {e.name: str(e.value) for e in told[one].result().values()} for one in (*asked, of_broker)}
    topics = {
        name: Topic(name, min(len(p.replicas) for p in metadata.topics[name].partitions.values()), found[name])
        for name in names
    }
    return Broker(len(metadata.brokers), found[first], topics)


def cluster(broker: Broker) -> Iterator[Finding]:
    """Nothing makes topics by itself, and more than one machine keeps what was acknowledged."""
    if broker.settings.get("auto.create.topics.enable") == "true":
        fix = "auto.create.topics.enable=false in the broker's file, and restart it"
        yield finding("broker-creates-topics", "broker", 0, "auto.create.topics.enable=true", fix)
    if broker.brokers == 1:
        what = "replication: there is one broker, so acks=all is acks=1, and its disk is the only copy"
        yield not_looked_at("broker", what, "three brokers, replication.factor=3, min.insync.replicas=2")


def topic(one: Topic, brokers: int) -> Iterator[Finding]:
    """What was acknowledged outlives one broker, and can be written at all."""
    place, least, copies = f"broker/{one.name}", one.number("min.insync.replicas", 1), one.replicas
    if copies < 2 <= brokers:
        fix = f"kafka-reassign-partitions.sh, to three replicas of {one.name}"
        yield finding("topic-one-replica", place, 0, "one replica", fix)
    elif least > copies or 1 < copies == least:
        says, fix = f"min.insync.replicas={least} of {copies}", alter(one, f"min.insync.replicas={max(1, copies - 1)}")
        yield finding("topic-insync-blocks", place, 0, says, fix)
    elif copies > least == 1:
        fix = alter(one, "min.insync.replicas=2")
        yield finding("topic-acks-of-one", place, 0, f"min.insync.replicas=1 of {copies}", fix)
    if one.settings.get("unclean.leader.election.enable") == "true":
        fix = alter(one, "unclean.leader.election.enable=false")
        yield finding("topic-unclean-election", place, 0, "unclean.leader.election.enable=true", fix)


def events(one: Topic) -> Iterator[Finding]:
    """Events stay for whoever reads later."""
    place, kept = f"broker/{one.name}", one.number("retention.ms", -1)
    if "compact" in one.settings.get("cleanup.policy", ""):
        message = f"{one.name} is compacted: of the events of one key only the last stays"
        yield Finding("topic-compacted", ERROR, place, 0, message, alter(one, "cleanup.policy=delete"))
    if 0 <= kept < DAY:
        yield finding("topic-retention-short", place, 0, f"retention.ms={kept}", alter(one, "retention.ms=604800000"))


def heartbeats(broker: Broker, outbox: Outbox) -> Iterator[Finding]:
    """The topic of the heartbeat is there, where nobody makes it."""
    prefix = outbox.value("topic.heartbeat.prefix", "__debezium-heartbeat")
    name = f"{prefix}.{outbox.value('topic.prefix')}"
    created = broker.settings.get("auto.create.topics.enable") == "true"
    if outbox.value("heartbeat.interval.ms", "0") != "0" and name not in broker.topics and not created:
        message = f"{name} does not exist, and nobody makes it: the connector waits for it and publishes nothing"
        fix = f"{CONFIGS.split(' --alter')[0].replace('configs', 'topics')} --create --topic {name}"
        yield Finding("heartbeat-topic-missing", ERROR, f"broker/{name}", 0, message, fix)


def is_routed(one: Topic, outboxes: Iterable[Outbox]) -> bool:
    """Whether an outbox may send to this topic."""
    return any(routed(outbox, one.name) for outbox in outboxes)


def alter(one: Topic, setting: str) -> str:
    """The command that sets it."""
    return f"{CONFIGS} --entity-name {one.name} --add-config {setting}"
