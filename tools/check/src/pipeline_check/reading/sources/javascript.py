"""JavaScript and TypeScript: kafkajs, node-rdkafka and confluent-kafka-javascript."""

import re
from collections.abc import Iterator

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.python_dictionaries import Contents
from pipeline_check.reading.sources.modules import script_source
from pipeline_check.reading.sources.shapes import Call, call_of, pairs_of, plain_name, unwrapped
from pipeline_check.reading.sources.trees import Tree, ancestors, line_of, text_of
from pipeline_check.reading.sources.values import Source, key_text

KAFKAJS = re.compile(r"""['"]kafkajs['"]""")
CONFLUENT = re.compile(r"""['"]@confluentinc/kafka-javascript['"]""")
RDKAFKA = re.compile(r"""['"](node-rdkafka|@confluentinc/kafka-javascript)['"]""")
OF_KAFKA = re.compile(r"kafka\w*\.(producer|consumer)\(", re.IGNORECASE)
SIDES: dict[str, Kind] = {"producer": "producer", "consumer": "consumer"}
RDKAFKA_MADE: dict[str, Kind] = {
    "Producer": "producer",
    "HighLevelProducer": "producer",
    "KafkaConsumer": "consumer",
}
NAMES = {
    "idempotent": "enable.idempotence",
    "acks": "acks",
    "maxInFlightRequests": "max.in.flight.requests.per.connection",
    "transactionalId": "transactional.id",
    "groupId": "group.id",
    "sessionTimeout": "session.timeout.ms",
    "readUncommitted": "isolation.level",
    "fromBeginning": "auto.offset.reset",
    "autoCommit": "enable.auto.commit",
}
ISOLATION = {"true": "read_uncommitted", "false": "read_committed"}
START = {"true": "earliest", "false": "latest"}
MEANINGS = {"readUncommitted": ISOLATION, "fromBeginning": START}
NEST_SERVERS = {"createMicroservice", "connectMicroservice"}
NEST_PARTS: dict[str, tuple[str, ...]] = {
    "producer": ("producer", "send"),
    "consumer": ("consumer", "subscribe", "run"),
}
SENDING = {"send", "sendBatch"}
CALLBACKS = re.compile(r"_cb$|^(key|value)\.(de)?serializer$")


def read_javascript(file: str, text: str, suffix: str) -> list[Block]:
    """Return every client that a source makes."""
    source = script_source(file, text, suffix)
    found: list[Block] = []
    if RDKAFKA.search(text):
        found += rdkafka_blocks(file, source)
    found += nest_blocks(file, source)
    found += topic_blocks(file, source)
    if KAFKAJS.search(text) or CONFLUENT.search(text) or OF_KAFKA.search(text):
        found += kafkajs_blocks(file, source, wrapped=bool(CONFLUENT.search(text)))
    return found


def kafkajs_blocks(file: str, source: Source, *, wrapped: bool) -> Iterator[Block]:
    """Yield what `kafka.producer(…)` and `kafka.consumer(…)` make.

    Confluent's library has the same face, and librdkafka behind it.
    """
    for call in source.calls:
        kind = SIDES.get(call.last)
        if not kind or not call.owner or len(call.arguments) > 1:
            continue
        client = "librdkafka" if wrapped else "kafkajs"
        given = call.arguments[0] if call.arguments else None
        held = of_client(source, given, call, wrapped=wrapped)
        if kind == "producer":
            held = Contents(held.settings | sent_with(source), held.opaque)
        else:
            held = Contents(held.settings | read_with(source, call), held.opaque)
        if kind == "producer" and any(each.last == "transaction" for each in source.calls):
            line = line_of(call.node)
            held.settings.setdefault("transactional.id", Setting("set", line))
        line = line_of(call.node)
        yield Block(file, line, kind, client, settings=held.settings, opaque=held.opaque)


def of_client(source: Source, given: Tree | None, call: Call, *, wrapped: bool) -> Contents:
    """Return the settings of a client under the usual names."""
    if given is None:
        return Contents()
    held = source.contents(given, call.node)
    settings: Settings = {}
    for name, each in held.settings.items():
        if name in NAMES:
            settings[NAMES[name]] = meaning(name, each)
        elif wrapped and "." in name:
            settings[name] = each
    for key, value in pairs_of(unwrapped(given)) or []:
        part = text_of(key) if key is not None else ""
        if part == "kafkaJS":
            inner = of_client(source, value, call, wrapped=wrapped)
            settings |= inner.settings
        if part == "retry":
            retry = source.contents(value, call.node)
            if "retries" in retry.settings:
                settings["retries"] = retry.settings["retries"]
    return Contents(settings, held.opaque)


def meaning(name: str, each: Setting) -> Setting:
    """Return a value under the words of other clients."""
    words = MEANINGS.get(name, {})
    text = words.get(each.text, each.text)
    if name == "acks" and text == "-1":
        text = "all"
    return Setting(text, each.line, each.source, each.known, each.literal)


def sent_with(source: Source) -> Settings:
    """Return the acks with which a file sends, if it names them; the weakest count."""
    found: Settings = {}
    for call in source.calls:
        if call.last not in SENDING or len(call.arguments) != 1:
            continue
        for key, value in pairs_of(unwrapped(call.arguments[0])) or []:
            if key is not None and text_of(key) == "acks":
                setting = meaning("acks", source.value(value))
                if not found or setting.text in {"0", "1"}:
                    found["acks"] = setting
    return found


def read_with(source: Source, made: Call) -> Settings:
    """Return from where a file subscribes, and whether it commits by itself.

    A consumer that is only made here subscribes elsewhere, and nobody sees from where.
    """
    found: Settings = {}
    if not any(call.last == "subscribe" for call in source.calls):
        unseen = Setting("", line_of(made.node), "where it subscribes", known=False)
        found["auto.offset.reset"] = unseen
    for call in source.calls:
        if call.last not in {"subscribe", "run"} or len(call.arguments) != 1:
            continue
        for key, value in pairs_of(unwrapped(call.arguments[0])) or []:
            name = text_of(key) if key is not None else ""
            if name in {"fromBeginning", "autoCommit"}:
                found[NAMES[name]] = meaning(name, source.value(value))
    return found


def nest_blocks(file: str, source: Source) -> Iterator[Block]:
    """Yield what Nest makes of `{ transport: Transport.KAFKA, options: … }`: kafkajs' clients.

    A microservice reads; a client of one sends.
    """
    for node in source.nodes:
        members = {key_text(key): each for key, each in pairs_of(node) or [] if key is not None}
        transport = members.get("transport")
        if transport is None or plain_name(transport) != "Transport.KAFKA":
            continue
        options = members.get("options")
        given = pairs_of(options) if options is not None else None
        parts = {key_text(key): each for key, each in given or [] if key is not None}
        is_server = any(
            call is not None and call.last in NEST_SERVERS for call in map(call_of, ancestors(node))
        )
        kind: Kind = "consumer" if is_server else "producer"
        settings: Settings = {}
        opaque = "the options that Nest is given" if given is None else ""
        for name in NEST_PARTS[kind]:
            held = (
                named_as_usual(source.contents(parts[name], node)) if name in parts else Contents()
            )
            settings |= held.settings
            opaque = opaque or held.opaque
        yield Block(file, line_of(transport), kind, "kafkajs", settings=settings, opaque=opaque)


def named_as_usual(held: Contents) -> Contents:
    """Return kafkajs' settings under the usual names."""
    settings = {
        NAMES[name]: meaning(name, each) for name, each in held.settings.items() if name in NAMES
    }
    return Contents(settings, held.opaque)


def topic_blocks(file: str, source: Source) -> Iterator[Block]:
    """Yield the topics of a file that calls `admin.createTopics(…)`, each with its copies."""
    if not any(call.last == "createTopics" for call in source.calls):
        return
    for node in source.nodes:
        members = {key_text(key): each for key, each in pairs_of(node) or [] if key is not None}
        copies = members.get("replicationFactor")
        if copies is not None:
            settings: Settings = {"replication.factor": source.value(copies)}
            opaque = "its configEntries"
            yield Block(file, line_of(copies), "topic", "java", "", settings, opaque)


def rdkafka_blocks(file: str, source: Source) -> Iterator[Block]:
    """Yield librdkafka's clients: settings first, then those of the topics."""
    for call in source.calls:
        kind = RDKAFKA_MADE.get(call.last)
        if call.last == "createWriteStream":
            kind = "producer"
        is_made = call.owner or call.node.type == "new_expression"
        if not kind or not is_made or not call.arguments:
            continue
        held = source.contents(call.arguments[0], call.node)
        for argument in call.arguments[1:2]:  # of the topics
            held = held.merged(source.contents(argument, call.node))
        settings = {
            name: each for name, each in held.settings.items() if not CALLBACKS.search(name)
        }
        line = line_of(call.node)
        yield Block(file, line, kind, "librdkafka", settings=settings, opaque=held.opaque)
