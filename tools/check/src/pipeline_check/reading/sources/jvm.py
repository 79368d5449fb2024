"""Java and Kotlin: producers, consumers, Streams and topics, with the maps that they are given."""

import re
from dataclasses import replace

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.python_dictionaries import Contents
from pipeline_check.reading.sources.classes import load_source
from pipeline_check.reading.sources.resources import spring_client
from pipeline_check.reading.sources.shapes import Call, call_of
from pipeline_check.reading.sources.trees import line_of
from pipeline_check.reading.sources.values import Source

MADE: dict[str, Kind] = {
    "KafkaProducer": "producer",
    "DefaultKafkaProducerFactory": "producer",
    "KafkaConsumer": "consumer",
    "DefaultKafkaConsumerFactory": "consumer",
}
CONTAINERS = "DefaultKafkaConsumerFactory"  # whose consumers Spring's containers run
STREAMS = {"KafkaStreams", "KafkaStreamsConfiguration", "StreamsConfig"}
REACTOR: dict[str, Kind] = {"SenderOptions": "producer", "ReceiverOptions": "consumer"}
SPRING = re.compile(r"build(Producer|Consumer|Streams)Properties")


def read_jvm(file: str, text: str, suffix: str) -> list[Block]:
    """Return every client and every topic that a source makes."""
    source = load_source(file, text, suffix)
    found = []
    for call in source.calls:
        block = block_of_call(file, source, call)
        if block:
            found.append(block)
    return found


def block_of_call(file: str, source: Source, call: Call) -> Block | None:
    """Return the block of one call, if it makes something of Kafka's."""
    kind = MADE.get(call.name) or MADE.get(call.last)
    if kind and call.arguments:
        held = source.contents(call.arguments[0], call.node)
        return client_block(file, source, call, kind, held)
    if call.last in STREAMS and call.arguments:
        place = 1 if call.last == "KafkaStreams" and len(call.arguments) > 1 else 0
        held = source.contents(call.arguments[place], call.node)
        return streams_block(file, call, held)
    if call.last == "create" and call.owner in REACTOR and call.arguments:
        held = source.contents(call.arguments[0], call.node)
        return client_block(file, source, call, REACTOR[call.owner], held)
    if call.last == "NewTopic" and len(call.arguments) > 2:
        copies = source.value(call.arguments[2])
        return topic_block(file, call, copies)
    if call.last == "replicas" and len(call.arguments) == 1 and "TopicBuilder" in text(call):
        return topic_block(file, call, source.value(call.arguments[0]))
    return None


def text(call: Call) -> str:
    """Return a call as it is written."""
    return str(call.node.text.decode(errors="replace"))


def client_block(file: str, source: Source, call: Call, kind: Kind, held: Contents) -> Block:
    """Return a client with the map that it is given; a part of that may be Spring Boot's."""
    line = line_of(call.node)
    settings, opaque = held.settings, held.opaque
    if SPRING.search(opaque):
        opaque = "spring.kafka of the application's settings"
        if source.properties:
            beside = spring_client(source.properties, kind)
            of_spring = beside.settings if beside else {}
            settings = {name: replace(each, line=line) for name, each in of_spring.items()}
            settings |= held.settings
            opaque = ""
    client = "spring-container" if call.last == CONTAINERS else "java"
    return Block(file, line, kind, client, settings=settings, opaque=opaque)


def streams_block(file: str, call: Call, held: Contents) -> Block:
    """Return the producers of a Streams application."""
    line = line_of(call.node)
    return Block(file, line, "producer", "streams", settings=held.settings, opaque=held.opaque)


def topic_block(file: str, call: Call, copies: Setting) -> Block:
    """Return a topic with its copies; what else is configured is not looked at."""
    settings: Settings = {"replication.factor": copies}
    configured = "configs" in text(call) or call_of(call.node.parent) is not None
    opaque = "what follows" if configured else ""
    return Block(file, line_of(call.node), "topic", "java", settings=settings, opaque=opaque)
