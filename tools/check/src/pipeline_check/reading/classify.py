"""What a flat set of Kafka settings belongs to, by names that only one kind of thing has."""

from pathlib import PurePath

from pipeline_check.clients import old_java
from pipeline_check.clients.table import keys
from pipeline_check.reading.block import Block, Kind, Settings
from pipeline_check.reading.placeholder import resolve_providers, substitute

WORKER = {
    "config.storage.topic",
    "offset.storage.topic",
    "status.storage.topic",
    "offset.storage.file.filename",
    "connector.client.config.override.policy",
    "exactly.once.source.support",
    "plugin.path",
}
BROKER = {
    "process.roles",
    "broker.id",
    "node.id",
    "zookeeper.connect",
    "advertised.listeners",
    "log.dirs",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "auto.create.topics.enable",
    "default.replication.factor",
    "controller.quorum.voters",
    "inter.broker.protocol.version",
}
PRODUCER = {
    "acks",
    "request.required.acks",
    "enable.idempotence",
    "transactional.id",
    "max.in.flight",
    "partitioner.class",
    "key.serializer",
    "value.serializer",
    "delivery.timeout.ms",
    "linger.ms",
    "message.send.max.retries",
    "retries",
    "compression.type",
    "batch.size",
    "max.request.size",
    "max.block.ms",
    "message.timeout.ms",
    "queue.buffering.max.ms",
    "buffer.memory",
    "max.in.flight.requests.per.connection",
}
CONSUMER = {
    "auto.offset.reset",
    "enable.auto.commit",
    "key.deserializer",
    "value.deserializer",
    "isolation.level",
    "max.poll.records",
    "max.poll.interval.ms",
    "enable.auto.offset.store",
    "group.id",
}
SURE_CONSUMER = {
    "group.id",
    "key.deserializer",
    "value.deserializer",
    "enable.auto.commit",
    "auto.offset.reset",
}
MARKERS: dict[Kind, set[str]] = {"producer": PRODUCER, "consumer": CONSUMER}
ADDRESS = {"bootstrap.servers", "metadata.broker.list"}
SURE_ALONE = {  # one of these is enough, without an address
    "enable.idempotence",
    "transactional.id",
    "key.serializer",
    "max.in.flight.requests.per.connection",
    "acks",
}
OLD_PRODUCER_ADDRESS = {"metadata.broker.list", "broker.list", "zk.connect"}
OLD_CONSUMER = {"zookeeper.connect", "group.id"}
PREFIXED_SWITCHES = (".acks", ".enable.idempotence", ".enable-idempotence")


def only_librdkafka() -> set[str]:
    """Return the names that librdkafka has and Java does not.

    A broker has `message.max.bytes`, too, and a Java consumer `client.rack`.
    """
    of_producers = {key.name for key in keys("librdkafka").values() if key.scope != "C"}
    return of_producers - keys("java").keys() - {"message.max.bytes", "client.rack"}


ONLY_LIBRDKAFKA = only_librdkafka()


def classify(file: str, settings: Settings, line: int = 1) -> list[Block]:
    """Return the blocks in these settings; none if they are of something else than Kafka."""
    names = settings.keys()
    if "connector.class" in names:
        name = text_of(settings, "name")
        return [Block(file, line, "connector", "connect", name, resolve_providers(settings))]
    if names & WORKER or {"bootstrap.servers", "key.converter"} <= names:
        group = text_of(settings, "group.id")
        return [Block(file, line, "worker", "connect", group, resolve_providers(settings))]
    if names >= OLD_CONSUMER and not names & (BROKER - OLD_CONSUMER):
        line = settings["zookeeper.connect"].line
        return [Block(file, line, "unjudged", "the consumer of Kafka 0.8")]
    if names & OLD_PRODUCER_ADDRESS and names & old_java.OWN_NAMES:
        line = min(settings[name].line for name in names & OLD_PRODUCER_ADDRESS)
        return [Block(file, line, "producer", "old-java", settings=substitute(settings))]
    if names & BROKER:
        return [Block(file, line, "broker", "java", settings=substitute(settings))]
    return client_blocks(file, substitute(settings)) or prefixed_blocks(file, settings)


def client_blocks(file: str, settings: Settings) -> list[Block]:
    """Return a producer, a consumer, or both where one file configures both."""
    names = settings.keys()
    client = "librdkafka" if names & ONLY_LIBRDKAFKA else "java"
    is_sure = bool(names & (ADDRESS | SURE_ALONE))
    found: list[Block] = []
    for kind, markers in MARKERS.items():
        own = names & markers
        if not own and kind in PurePath(file).name.lower():
            own = names & ADDRESS
        if kind == "consumer" and found and not own & SURE_CONSUMER:
            continue  # a producer that was given a consumer's setting, too
        if own and (is_sure or len(own) > 1):
            line = min(settings[name].line for name in own)
            found.append(Block(file, line, kind, client, settings=settings))
    return found


def prefixed_blocks(file: str, settings: Settings) -> list[Block]:
    """Return the clients whose settings an application passes on under names of its own.

    How it does that only its code knows, so they are not judged.
    """
    for name, each in settings.items():
        if name.endswith(PREFIXED_SWITCHES):
            return [Block(file, each.line, "unjudged", f"what reads {name}")]
    return []


def text_of(settings: Settings, name: str) -> str:
    """Return a setting's text, or an empty one if it is not there."""
    return settings[name].text if name in settings else ""
