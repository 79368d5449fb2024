"""Python sources, never run: every place that makes a client or a topic, and what it is given."""

import ast
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from pipeline_check.reading.block import Block, Kind, Setting
from pipeline_check.reading.python_dictionaries import Contents, Dictionaries
from pipeline_check.reading.python_scopes import (
    Function,
    Scope,
    full_name,
    function_scope,
    imported_names,
)
from pipeline_check.reading.unreadable import UnreadableError


class Package(NamedTuple):
    """A package with Kafka clients: the rules that are right for it, and its classes."""

    client: str
    producers: tuple[str, ...]
    consumers: tuple[str, ...]


PACKAGES = {
    "confluent_kafka": Package(
        "librdkafka",
        ("Producer", "SerializingProducer", "AIOProducer", "AvroProducer"),
        ("Consumer", "DeserializingConsumer", "AIOConsumer", "AvroConsumer"),
    ),
    "kafka": Package("kafka-python", ("KafkaProducer",), ("KafkaConsumer",)),
    "aiokafka": Package("aiokafka", ("AIOKafkaProducer",), ("AIOKafkaConsumer",)),
}
CALLBACKS = {  # arguments for the Python side, which librdkafka never sees
    "error_cb",
    "stats_cb",
    "throttle_cb",
    "oauth_cb",
    "on_delivery",
    "delivery_cb",
    "logger",
    "on_commit",
}
SERIALIZERS = {  # the same of the clients that serialize
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
}
REGISTRY = "schema.registry."  # which AvroProducer and AvroConsumer keep for themselves
AIO_SETTINGS = (
    "producer_conf",
    "consumer_conf",
    "config",
)  # all that these clients pass to librdkafka
UNJUDGED = (  # packages with Kafka clients that have no rules here
    "faust",
    "quixstreams",
    "pykafka",
    "faststream.kafka",
    "faststream.confluent",
    "bytewax.connectors.kafka",
)
TOPIC_ARGUMENTS = ("name", "partitions", "replication.factor")
# Spark: a chain such as `frame.writeStream.format("kafka").option(…).start()`.
SPARK_STARTS: dict[str, Kind] = {
    "read": "consumer",
    "readStream": "consumer",
    "write": "producer",
    "writeStream": "producer",
}
SPARK_ENDS = {"load", "save", "start", "table", "toTable", "saveAsTable"}
NAMING_THE_FORMAT = ("format", "load", "save", "start")


def read_python(file: str, text: str) -> list[Block]:
    """Return every client and every topic that a module makes."""
    try:
        tree = parse_python(file, text)
    except UnreadableError as broken:  # newer than the Python that reads it, or a template
        version = ".".join(map(str, sys.version_info[:2]))
        return [Block(file, broken.line, "unjudged", f"what Python {version} cannot parse")]
    names = imported_names(tree)
    found = []
    for call, scope, is_followed in calls(tree, file):
        reader = Dictionaries(names, scope, call.lineno)
        block = block_of_call(file, call, reader, is_followed=is_followed)
        if block:
            found.append(block)
    found.sort(key=lambda block: block.line)
    return found + unjudged_imports(file, tree)


def parse_python(file: str, text: str) -> ast.Module:
    """Return the syntax tree, or say at which line it is no Python."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text)
    except SyntaxError as broken:
        raise UnreadableError(file, broken.lineno or 1, f"not Python: {broken.msg}") from None
    except (ValueError, MemoryError) as broken:  # null bytes, or nested beyond the parser's depth
        raise UnreadableError(file, 1, f"not Python: {broken or 'nested too deeply'}") from None


def calls(tree: ast.Module, file: str) -> Iterator[tuple[ast.Call, Scope, bool]]:
    """Yield every call, its scope, and whether another call follows on its result."""
    waiting: list[tuple[ast.AST, Scope, bool]] = [(tree, Scope(tree.body, file=file), False)]
    while waiting:
        node, scope, is_followed = waiting.pop()
        if isinstance(node, ast.Call):
            yield node, scope, is_followed
        if isinstance(node, Function):
            scope = function_scope(node, scope)
        if isinstance(node, ast.ClassDef):
            scope = scope.owned_by(node)
        for child in ast.iter_child_nodes(node):
            is_callee = isinstance(node, ast.Call) and child is node.func
            in_chain = is_followed and isinstance(node, ast.Attribute)
            waiting.append((child, scope, is_callee or in_chain))


def block_of_call(
    file: str, call: ast.Call, reader: Dictionaries, *, is_followed: bool
) -> Block | None:
    """Return the block of one call, if it makes something of Kafka's."""
    path = (base_made(call, reader) or full_name(call.func, reader.names)).split(".")
    package = PACKAGES.get(path[0])
    name = path[-1]
    if not package:
        return None if is_followed else spark_block(file, call, reader)
    if name in package.producers:
        return client_block(file, call, "producer", package.client, reader)
    if name in package.consumers:
        return client_block(file, call, "consumer", package.client, reader)
    if name == "NewTopic":
        return topic_block(file, call, reader)
    return None


def base_made(call: ast.Call, reader: Dictionaries) -> str:
    """Return the base whose `__init__` a class calls: of one that is a KafkaProducer itself."""
    owner = reader.scope.owner
    if not owner or ast.unparse(call.func) != "super().__init__":
        return ""
    bases = [full_name(base, reader.names) for base in owner.bases]
    return next((base for base in bases if base.split(".")[0] in PACKAGES), "")


def client_block(file: str, call: ast.Call, kind: Kind, client: str, reader: Dictionaries) -> Block:
    """Return a producer or a consumer with what it is given."""
    if client == "librdkafka":
        held = reader.of_arguments(only_settings(call, reader))
        callbacks = CALLBACKS | (SERIALIZERS if serializes(call, reader) else set())
        settings = {
            name: each
            for name, each in held.settings.items()
            if name not in callbacks and not is_none(each) and not name.startswith(REGISTRY)
        }
    else:  # it takes keywords; the arguments before them are topics
        keywords_only = ast.copy_location(ast.Call(call.func, [], call.keywords), call)
        held = reader.of_arguments(keywords_only)
        settings = held.settings
    return Block(file, call.lineno, kind, client, settings=settings, opaque=held.opaque)


def only_settings(call: ast.Call, reader: Dictionaries) -> ast.Call:
    """Return the call without what is no setting, such as the pool of an asynchronous client."""
    name = full_name(call.func, reader.names).split(".")[-1]
    if not name.startswith(("AIO", "Avro")):
        return call
    by_keyword = [each.value for each in call.keywords if each.arg in AIO_SETTINGS]
    held = [*call.args, *by_keyword][:1]
    return ast.copy_location(ast.Call(call.func, held, []), call)


def serializes(call: ast.Call, reader: Dictionaries) -> bool:
    """Return whether a client takes serializers; librdkafka itself refuses them."""
    path = base_made(call, reader) or full_name(call.func, reader.names)
    return path.rpartition(".")[2] in ("SerializingProducer", "DeserializingConsumer")


def is_none(setting: Setting) -> bool:
    """Return whether a setting is None, which never reaches librdkafka."""
    return setting.known and setting.literal is None


def topic_block(file: str, call: ast.Call, reader: Dictionaries) -> Block:
    """Return a topic that the program makes."""
    given = dict(zip(TOPIC_ARGUMENTS, call.args, strict=False))
    for keyword in call.keywords:
        given[str(keyword.arg).replace("_", ".")] = keyword.value
    config = given.pop("config", None) or given.pop("topic.configs", None)
    held = reader.contents(config) if config else Contents()
    settings = {name: reader.value(node) for name, node in given.items()}
    settings |= held.settings
    return Block(file, call.lineno, "topic", "java", settings=settings, opaque=held.opaque)


def unjudged_imports(file: str, tree: ast.Module) -> list[Block]:
    """Return the first import of a client that has no rules here."""
    for node in tree.body:
        for module in imported_modules(node):
            for package in UNJUDGED:
                if f"{module}.".startswith(f"{package}."):
                    return [Block(file, node.lineno, "unjudged", package)]
    return []


def imported_modules(node: ast.stmt) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return []


def spark_block(file: str, call: ast.Call, reader: Dictionaries) -> Block | None:
    """Return the source or the sink that a chain of calls makes, if it is one of Kafka's."""
    chain, start = chain_links(call, reader)
    if not isinstance(start, ast.Attribute) or start.attr not in SPARK_STARTS:
        return None
    last_name, _ = chain[0]
    if last_name not in SPARK_ENDS:
        return None
    held = Contents()
    is_kafka = False
    for name, link in reversed(chain):
        if name in NAMING_THE_FORMAT and "kafka" in named_formats(link, reader):
            is_kafka = True
        held = held.merged(spark_options(name, link, reader))
    if not is_kafka:
        return None
    settings = {name.removeprefix("kafka."): each for name, each in held.settings.items()}
    kind = SPARK_STARTS[start.attr]
    return Block(file, call.lineno, kind, "spark", settings=settings, opaque=held.opaque)


def chain_links(
    call: ast.Call, reader: Dictionaries
) -> tuple[list[tuple[str, ast.Call]], ast.expr]:
    """Return the calls of a chain, the last one first, and the expression that it begins with.

    A name that holds a part of the chain is followed to its assignment.
    """
    chain: list[tuple[str, ast.Call]] = []
    start: ast.expr = call
    before = call.lineno
    while True:
        if isinstance(start, ast.Call) and isinstance(start.func, ast.Attribute):
            chain.append((start.func.attr, start))
            start = start.func.value
            continue
        assignment = None
        if isinstance(start, ast.Name):
            assignment = last_assignment(start.id, before, reader)
        if not assignment:
            return chain, start
        start = assignment.value
        before = assignment.lineno


def last_assignment(name: str, before: int, reader: Dictionaries) -> ast.Assign | None:
    """Return the last assignment to a name above a line."""
    holder = reader.scope.holder(name)
    found = None
    for each in holder.statements(name) if holder else []:
        statement = each.node
        if statement.lineno >= before or not isinstance(statement, ast.Assign):
            continue
        if isinstance(statement.targets[0], ast.Name):
            found = statement
    return found


def spark_options(name: str, call: ast.Call, reader: Dictionaries) -> Contents:
    """Return what one call of a chain sets."""
    if name == "options":
        return reader.of_arguments(call)
    if name == "option" and len(call.args) == 2:
        key, value = call.args
        return reader.of_item(key, value, opaque=reader.value(key).source)
    return Contents()


def named_formats(call: ast.Call, reader: Dictionaries) -> list[str]:
    """Return the plain arguments of a call, and the format that it names."""
    nodes = list(call.args)
    nodes += [each.value for each in call.keywords if each.arg in ("format", "source")]
    return [reader.value(each).text for each in nodes]
