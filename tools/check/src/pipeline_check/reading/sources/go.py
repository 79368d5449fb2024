"""Go: confluent-kafka-go, sarama, franz-go and segmentio's kafka-go."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.sources.modules import go_source
from pipeline_check.reading.sources.shapes import (
    Call,
    call_of,
    conditions_around,
    function_around,
    pairs_of,
    plain_name,
    unwrapped,
)
from pipeline_check.reading.sources.trees import Tree, line_of, text_of, walk
from pipeline_check.reading.sources.values import Source, as_text, changes_to, shortened

SARAMA_MADE: dict[str, Kind] = {
    "NewSyncProducer": "producer",
    "NewAsyncProducer": "producer",
    "NewConsumer": "consumer",
    "NewConsumerGroup": "consumer",
}
SARAMA_CLIENTS = {"NewSyncProducerFromClient", "NewAsyncProducerFromClient"}
SARAMA_FIELDS = {
    "Producer.Idempotent": "enable.idempotence",
    "Producer.RequiredAcks": "acks",
    "Producer.Retry.Max": "retries",
    "Net.MaxOpenRequests": "max.in.flight.requests.per.connection",
    "Producer.Transaction.ID": "transactional.id",
    "Consumer.Offsets.Initial": "auto.offset.reset",
    "Consumer.Offsets.AutoCommit.Enable": "enable.auto.commit",
    "Consumer.IsolationLevel": "isolation.level",
}
ACKS_BY_NUMBER = {"-1": "all"}
FRANZ_ACKS = {"AllISRAcks": "all", "LeaderAck": "1", "NoAck": "0"}
FRANZ_NUMBERS = {
    "RecordRetries": "retries",
    "MaxProduceRequestsInflightPerBroker": "max.in.flight.requests.per.connection",
}
NEW_CONFIG = re.compile(r"^&?sarama\.(NewConfig\(|Config\{)")
DEEPEST = 6  # functions that get a configuration from functions
SENDING = re.compile(r"\.(Produce|ProduceSync|TryProduce|BeginTransaction)\(")
CONFLUENT = re.compile(r'"github\.com/confluentinc/confluent-kafka-go')
SEGMENTIO = re.compile(r'"github\.com/segmentio/kafka-go')
CONFLUENT_MADE: dict[str, Kind] = {"NewProducer": "producer", "NewConsumer": "consumer"}


def read_go(file: str, text: str, suffix: str) -> list[Block]:
    """Return every client that a source makes."""
    source = go_source(file, text, suffix)
    text = text_of(source.root)
    found = list(sarama_blocks(file, source))
    found += franz_blocks(file, source, text)
    if CONFLUENT.search(text):
        found += confluent_blocks(file, source)
    if SEGMENTIO.search(text):
        found += segmentio_blocks(file, source)
    return found


def confluent_blocks(file: str, source: Source) -> Iterator[Block]:
    """Yield librdkafka's clients, which take a map."""
    for call in source.calls:
        kind = CONFLUENT_MADE.get(call.last)
        if kind and call.owner and len(call.arguments) == 1:
            held = source.contents(call.arguments[0], call.node)
            line = line_of(call.node)
            settings = {
                name: each for name, each in held.settings.items() if not name.startswith("go.")
            }  # which are of the Go side
            yield Block(file, line, kind, "librdkafka", settings=settings, opaque=held.opaque)


# sarama


def sarama_blocks(file: str, source: Source) -> Iterator[Block]:
    """Yield sarama's clients, with the fields of the configuration that they are given."""
    for call in source.calls:
        if call.owner != "sarama":
            continue
        kind = SARAMA_MADE.get(call.last)
        if kind:
            yield sarama_block(file, source, call, kind, call.arguments[-1])
        if call.last in SARAMA_CLIENTS and call.arguments:
            config = config_of_client(source, call)
            yield sarama_block(file, source, call, "producer", config)


def config_of_client(source: Source, call: Call) -> Tree:
    """Return the configuration of the client that a producer is made from."""
    client = call.arguments[0]
    bound = source.binding_for(plain_name(client), call.node)
    made = call_of(bound.value) if bound else None
    if made and made.arguments:
        return made.arguments[-1]
    return client


def sarama_block(file: str, source: Source, call: Call, kind: Kind, config: Tree) -> Block:
    """Return a client; `nil` is the default configuration."""
    line = line_of(call.node)
    if plain_name(unwrapped(config)) == "nil":
        return Block(file, line, kind, "sarama")
    filled = places_of_config(source, call.node, config)
    if not filled:
        return Block(file, line, kind, "sarama", opaque=shortened(config))
    settings: Settings = {}
    for place in reversed(filled):
        settings |= fields_set(place, line if place.source is not source else 0)
    return Block(file, line, kind, "sarama", settings=settings)


class Filled(NamedTuple):
    """Where a configuration is filled: up to which place of a source, and its name there."""

    source: Source
    up_to: Tree
    name: str


def fields_set(place: Filled, line: int) -> Settings:
    """Return the fields that are set there; those of another file at the line that asks for it."""
    found: Settings = {}
    for change in changes_to(place.source, place.name, place.up_to):
        field = SARAMA_FIELDS.get(change.name.removeprefix(f"{place.name}."))
        if not field:
            continue
        setting = acks_named(place.source.value(change.value))
        function = function_around(place.up_to)
        if any(conditions_around(change.node, function)):
            setting = replace(
                setting, known=False, source=f"line {setting.line}, under a condition"
            )
        found[field] = replace(setting, line=line or setting.line)
    return found


def places_of_config(source: Source, at: Tree, config: Tree, depth: int = 0) -> list[Filled]:
    """Return where a configuration is filled, the last place first; nothing if it is not seen."""
    name = plain_name(unwrapped(config))
    bound = source.binding_for(name, at) if name else None
    if bound and NEW_CONFIG.search(text_of(bound.value)):
        return [Filled(source, at, name)]
    if not bound and name:
        given = source.argument_for(name, at)
        inner = places_of_config(source, given, given, depth + 1) if given is not None else []
        return [Filled(source, at, name), *inner] if inner else []
    made = call_of(bound.value if bound else unwrapped(config))
    found = source.function_called(made) if made and depth < DEEPEST else None
    if not found:
        return []
    other, function = found
    here = [Filled(source, at, name)] if name else []
    returned = returned_names(function)
    if len(returned) != 1:
        return []
    [(end, inner_name)] = returned.items()
    return [*here, *places_of_config(other, end, inner_name, depth + 1)]


def returned_names(function: Tree) -> dict[Tree, Tree]:
    """Return each `return` of a function that gives something else than nil, and what it gives."""
    found = {}
    for node in walk(function):
        if node.type == "return_statement" and node.named_children:
            value = node.named_children[0].named_children[0]
            if text_of(value) != "nil":
                found[node] = value
    return found


def acks_named(setting: Setting) -> Setting:
    """Return acks by their usual name; of a number, too."""
    text = ACKS_BY_NUMBER.get(setting.text, setting.text)
    return Setting(text, setting.line, setting.source, setting.known, setting.literal)


# franz-go


def franz_blocks(file: str, source: Source, text: str) -> Iterator[Block]:
    """Yield franz-go's clients with their options: one that sends, one that reads, or both."""
    for call in source.calls:
        if call.name not in {"kgo.NewClient", "kgo.NewGroupTransactSession"}:
            continue
        options, opaque = franz_options(source, call)
        yield from franz_reader(file, call, options)
        if not SENDING.search(text):
            continue
        settings: Settings = {}
        for option in options:
            settings |= franz_setting(source, option)
        yield Block(
            file, line_of(call.node), "producer", "franz-go", settings=settings, opaque=opaque
        )


def franz_reader(file: str, call: Call, options: list[Call]) -> Iterator[Block]:
    """Yield what a client reads with, if it names topics or a group to read."""
    names = {option.last for option in options}
    if not names & {"ConsumeTopics", "ConsumerGroup", "ConsumePartitions"}:
        return
    settings: Settings = {}
    for option in options:
        text = text_of(option.node)
        line = line_of(option.node)
        if option.last == "ConsumerGroup":
            settings["group.id"] = Setting("set", line)
        if option.last == "ConsumeResetOffset" and "AtEnd()" in text:
            settings["auto.offset.reset"] = Setting("latest", line)
        if option.last == "FetchIsolationLevel" and "ReadCommitted" in text:
            settings["isolation.level"] = Setting("read_committed", line)
    yield Block(file, line_of(call.node), "consumer", "franz-go", settings=settings)


def franz_options(source: Source, call: Call) -> tuple[list[Call], str]:
    """Return the options that a client is given, also those in a slice of the same function."""
    found = [each for argument in call.arguments for each in calls_in(source, argument)]
    opaque = ""
    for argument in call.arguments:
        if argument.type != "variadic_argument":
            continue
        name = plain_name(argument.named_children[0])
        bindings = source.bindings.get(name, [])
        for bound in bindings:
            found += calls_in(source, bound.value)
        opaque = "" if bindings else shortened(argument)
    return found, opaque


def calls_in(source: Source, node: Tree) -> list[Call]:
    """Return the options of franz-go inside an expression."""
    inside = {each.id for each in walk(node)}
    return [each for each in source.calls if each.node.id in inside and each.owner == "kgo"]


def franz_setting(source: Source, option: Call) -> Settings:
    """Return what an option sets, under the usual names."""
    line = line_of(option.node)
    if option.last == "DisableIdempotentWrite":
        return {"enable.idempotence": Setting("false", line)}
    if option.last == "TransactionalID":
        return {"transactional.id": Setting("set", line)}
    if option.last == "RequiredAcks" and option.arguments:
        name = plain_name(unwrapped(option.arguments[0]).named_children[0]).rpartition(".")[2]
        acks = FRANZ_ACKS.get(name)
        unseen = "" if acks else shortened(option.node)
        return {"acks": Setting(acks or "", line, unseen, known=bool(acks))}
    if option.last in FRANZ_NUMBERS and option.arguments:
        return {FRANZ_NUMBERS[option.last]: source.value(option.arguments[0])}
    return {}


# segmentio


def segmentio_blocks(file: str, source: Source) -> Iterator[Block]:
    """Yield kafka-go's writers and topics.

    A zero for acks means none in a Writer, and all in its Config.
    """
    configured = {"kafka.WriterConfig": "all", "kafka.Writer": "0"}
    for node in source.nodes:
        if node.type != "composite_literal":
            continue
        name = plain_name(node.child_by_field_name("type"))
        line = line_of(node)
        if name == "kafka.TopicConfig":
            yield from topic_blocks(file, source, node)
        if name == "kafka.ReaderConfig":
            yield segmentio_reader(file, source, node)
        if name not in configured:
            continue
        settings: Settings = {"acks": Setting(configured[name], line)}
        for key, value in pairs_of(node) or []:
            field = text_of(key) if key is not None else ""
            if field == "RequiredAcks":
                settings["acks"] = acks_of_writer(source.value(value), configured[name])
            if field == "MaxAttempts":
                settings["retries"] = source.value(value)
        yield Block(file, line, "producer", "kafka-go", settings=settings)


def segmentio_reader(file: str, source: Source, node: Tree) -> Block:
    """Return a reader of kafka-go's: `ReadMessage` commits before anybody has handled a record."""
    settings: Settings = {}
    for key, value in pairs_of(node) or []:
        field = text_of(key) if key is not None else ""
        if field == "StartOffset":
            settings["auto.offset.reset"] = source.value(value)
        if field == "GroupID":
            settings["group.id"] = source.value(value)
    reads = [call for call in source.calls if call.last == "ReadMessage"]
    fetches = [call for call in source.calls if call.last == "FetchMessage"]
    if "group.id" in settings and reads and not fetches:
        settings["enable.auto.commit"] = Setting("true", line_of(reads[0].node))
    return Block(file, line_of(node), "consumer", "kafka-go", settings=settings)


def topic_blocks(file: str, source: Source, node: Tree) -> Iterator[Block]:
    """Yield a topic that a program makes."""
    for key, value in pairs_of(node) or []:
        if key is not None and text_of(key) == "ReplicationFactor":
            settings: Settings = {"replication.factor": source.value(value)}
            line = line_of(node)
            yield Block(file, line, "topic", "java", settings=settings, opaque="its entries")


def acks_of_writer(setting: Setting, zero: str) -> Setting:
    """Return what a writer makes of its acks."""
    if setting.known and as_text(setting.literal) == "0":
        return Setting(zero, setting.line)
    return acks_named(setting)
