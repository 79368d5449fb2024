"""Python sources, never run: every place that makes a producer, a consumer or a topic, and what it is given."""

import ast
import warnings
from collections.abc import Iterator

from pipeline_check.reading.block import Block, Kind, Setting
from pipeline_check.reading.python_held import Held
from pipeline_check.reading.python_imports import full_name, imported
from pipeline_check.reading.python_mapping import Reader
from pipeline_check.reading.python_others import others
from pipeline_check.reading.python_scope import Function, Scope, parameters
from pipeline_check.reading.spark_options import spark_block
from pipeline_check.reading.unreadable import UnreadableError

LIBRDKAFKA = (
    "librdkafka",
    ("Producer", "SerializingProducer", "AIOProducer"),
    ("Consumer", "DeserializingConsumer", "AIOConsumer"),
)
PACKAGES = {
    "confluent_kafka": LIBRDKAFKA,
    "kafka": ("kafka-python", ("KafkaProducer",), ("KafkaConsumer",)),
    "aiokafka": ("aiokafka", ("AIOKafkaProducer",), ("AIOKafkaConsumer",)),
}
CALLBACKS = {  # arguments for the Python side, which the library never sees
    *(
        "error_cb",
        "stats_cb",
        "throttle_cb",
        "oauth_cb",
        "on_delivery",
        "delivery_cb",
        "logger",
        "on_commit",
    ),
    *("key.serializer", "value.serializer", "key.deserializer", "value.deserializer"),
}


def read_python(file: str, text: str) -> list[Block]:
    """Every client that the module makes."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except SyntaxError as broken:
        raise UnreadableError(file, broken.lineno or 1, f"not Python: {broken.msg}") from None
    except (
        ValueError,
        MemoryError,
    ) as broken:  # null bytes, or nested beyond what the parser bears
        raise UnreadableError(file, 1, f"not Python: {broken or 'nested too deeply'}") from None
    names = imported(tree)
    found = [
        made(file, call, followed, Reader(names, scope, call.lineno))
        for call, scope, followed in calls(tree)
    ]
    return sorted((each for each in found if each), key=lambda block: block.line) + others(
        file, tree
    )


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, Scope, bool]]:
    """Every call, with the function that it stands in, and whether another call follows on its result."""
    waiting: list[tuple[ast.AST, Scope, bool]] = [(tree, Scope(tree.body), False)]
    while waiting:
        node, scope, followed = waiting.pop()
        if isinstance(node, ast.Call):
            yield node, scope, followed
        if isinstance(node, Function):
            scope = Scope(node.body, scope, parameters(node), node.name)
        for child in ast.iter_child_nodes(node):
            callee = isinstance(node, ast.Call) and child is node.func
            waiting.append((child, scope, callee or (followed and isinstance(node, ast.Attribute))))


def made(file: str, call: ast.Call, followed: bool, reader: Reader) -> Block | None:
    """The block of one call, if it makes something of Kafka's."""
    full = full_name(call.func, reader.names)
    package, name = full.partition(".")[0], full.rpartition(".")[2]
    if package not in PACKAGES:
        return None if followed else spark_block(file, call, reader)
    client, producers, consumers = PACKAGES[package]
    if name in producers or name in consumers:
        return client_block(
            file, call, "producer" if name in producers else "consumer", client, reader
        )
    return topic_block(file, call, reader) if name == "NewTopic" else None


def client_block(file: str, call: ast.Call, kind: Kind, client: str, reader: Reader) -> Block:
    """A producer or a consumer with what it is given."""
    if client != "librdkafka":  # keywords; what stands before them are topics
        call = ast.copy_location(ast.Call(call.func, [], call.keywords), call)
    held = reader.arguments(call)
    settings = {
        name: each
        for name, each in held.settings.items()
        if client != "librdkafka" or of_library(name, each)
    }
    return Block(file, call.lineno, kind, client, "", settings, held.opaque)


def of_library(name: str, setting: Setting) -> bool:
    """Whether the setting reaches librdkafka at all."""
    return name not in CALLBACKS and not (setting.known and setting.literal is None)


def topic_block(file: str, call: ast.Call, reader: Reader) -> Block:
    """A topic that the program makes."""
    given = dict(zip(("name", "partitions", "replication.factor"), call.args, strict=False))
    given |= {str(each.arg).replace("_", "."): each.value for each in call.keywords}
    config = given.pop("config", None) or given.pop("topic.configs", None)
    held = reader.read(config) if config else Held()
    topic = Reader(reader.names, reader.scope, reader.before).literal(
        ast.Dict(
            [ast.copy_location(ast.Constant(name), call) for name in given], list(given.values())
        )
    )
    return Block(
        file, call.lineno, "topic", "java", "", topic.settings | held.settings, held.opaque
    )
