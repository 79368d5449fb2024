"""The broker and its topics, by the Admin API: whether what was acknowledged is kept, and whether events fit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from pipeline_check.live.unseen import not_looked_at
from pipeline_check.rules.catalog import make_finding as finding
from pipeline_check.rules.finding import Finding, Severity

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
    found = {
        one.name: {e.name: str(e.value) for e in told[one].result().values()}
        for one in (*asked, of_broker)
    }
    topics = {
        name: Topic(
            name,
            min(len(p.replicas) for p in metadata.topics[name].partitions.values()),
            found[name],
        )
        for name in names
    }
    return Broker(len(metadata.brokers), found[first], topics)


def cluster(broker: Broker) -> Iterator[Finding]:
    """Nothing makes topics by itself, and more than one machine keeps what was acknowledged."""
    if broker.settings.get("auto.create.topics.enable") == "true":
        fix = "auto.create.topics.enable=false in the broker's file, and restart it"
        yield finding("broker-creates-topics", "broker", 0, "auto.create.topics.enable=true", fix)
    if broker.brokers == 1:
        what = (
            "replication: there is one broker, so acks=all is acks=1, and its disk is the only copy"
        )
        yield not_looked_at(
            "broker", what, "three brokers, replication.factor=3, min.insync.replicas=2"
        )
