"""What a flat set of Java-like settings belongs to: told by the names that only one kind of thing has."""

from pathlib import PurePath

from pipeline_check.clients.table import keys
from pipeline_check.reading.block import Block, Kind, Setting
from pipeline_check.reading.placeholder import connect_setting, substituted

Settings = dict[str, Setting]
WORKER = {
    *(
        "config.storage.topic",
        "offset.storage.topic",
        "status.storage.topic",
        "offset.storage.file.filename",
    ),
    *("connector.client.config.override.policy", "exactly.once.source.support", "plugin.path"),
}
BROKER = {
    *(
        "process.roles",
        "broker.id",
        "node.id",
        "zookeeper.connect",
        "advertised.listeners",
        "log.dirs",
    ),
    *(
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "auto.create.topics.enable",
    ),
    *("default.replication.factor", "controller.quorum.voters", "inter.broker.protocol.version"),
}
PRODUCER = {
    *(
        "acks",
        "request.required.acks",
        "enable.idempotence",
        "transactional.id",
        "max.in.flight",
        "partitioner.class",
    ),
    *(
        "key.serializer",
        "value.serializer",
        "delivery.timeout.ms",
        "linger.ms",
        "message.send.max.retries",
        "retries",
    ),
    *("compression.type", "batch.size", "max.request.size", "max.block.ms"),
    *(
        "message.timeout.ms",
        "queue.buffering.max.ms",
        "buffer.memory",
        "max.in.flight.requests.per.connection",
    ),
}
CONSUMER = {
    *(
        "auto.offset.reset",
        "enable.auto.commit",
        "key.deserializer",
        "value.deserializer",
        "isolation.level",
    ),
    *("max.poll.records", "max.poll.interval.ms", "enable.auto.offset.store", "group.id"),
}
MARKERS: dict[Kind, set[str]] = {"producer": PRODUCER, "consumer": CONSUMER}
ADDRESS = {"bootstrap.servers", "metadata.broker.list"}
ALONE = {
    "enable.idempotence",
    "transactional.id",
    "key.serializer",
    "max.in.flight.requests.per.connection",
    "acks",
}
OTHERS = {
    "application.id": "Kafka Streams",
    "clusters": "MirrorMaker 2",
    "spring.cloud.stream": "Spring Cloud Stream",
}
ONLY_LIBRDKAFKA = (
    {key.name for key in keys("librdkafka").values() if key.scope != "C"}
    - keys("java").keys()
    - {"message.max.bytes", "client.rack"}  # a broker has the first, a Java consumer the second
)


def classify(file: str, settings: Settings, line: int = 1) -> list[Block]:
    """The blocks in these settings; none if they are of something else than Kafka."""
    names = settings.keys()
    if "connector.class" in names:
        return [
            Block(file, line, "connector", "connect", text_of(settings, "name"), resolved(settings))
        ]
    if names & WORKER or {"bootstrap.servers", "key.converter"} <= names:
        return [
            Block(
                file, line, "worker", "connect", text_of(settings, "group.id"), resolved(settings)
            )
        ]
    if names & BROKER:
        return [Block(file, line, "broker", "java", "", replaced(settings))]
    for marker, client in OTHERS.items():
        if marker in names and ("bootstrap.servers" in names or marker == "clusters"):
            return [Block(file, settings[marker].line, "unjudged", client)]
    return clients(file, replaced(settings)) or prefixed(file, settings)


def clients(file: str, settings: Settings) -> list[Block]:
    """A producer, a consumer, or both where one file configures both."""
    names = settings.keys()
    client = "librdkafka" if names & ONLY_LIBRDKAFKA else "java"
    sure = bool(names & (ADDRESS | ALONE))
    found = []
    for kind, markers in MARKERS.items():
        own = names & markers or (names & ADDRESS if kind in PurePath(file).name.lower() else set())
        if own and (sure or len(own) > 1):
            found.append(
                Block(file, min(settings[name].line for name in own), kind, client, "", settings)
            )
    return found


def prefixed(file: str, settings: Settings) -> list[Block]:
    """Settings that an application passes on under names of its own: how, only its code knows."""
    for name, each in settings.items():
        if name.startswith("mp.messaging.") and each.text == "smallrye-kafka":
            return [Block(file, each.line, "unjudged", "SmallRye Reactive Messaging")]
        if name.startswith("quarkus.kafka-streams."):
            return [Block(file, each.line, "unjudged", "Kafka Streams")]
    found = [
        name
        for name in settings
        if name.endswith((".acks", ".enable.idempotence", ".enable-idempotence"))
    ]
    return (
        [Block(file, settings[found[0]].line, "unjudged", f"what reads {found[0]}")]
        if found
        else []
    )


def resolved(settings: Settings) -> Settings:
    """With values that a config provider brings marked as unknown."""
    return {
        name: connect_setting(each.text, each.line) if each.known else each
        for name, each in settings.items()
    }


def replaced(settings: Settings) -> Settings:
    """With values that are replaced from outside marked as unknown."""
    return {
        name: substituted(each.text, each.line) if each.known else each
        for name, each in settings.items()
    }


def text_of(settings: Settings, name: str) -> str:
    """A setting's text; nothing if it is not there."""
    return settings[name].text if name in settings else ""
