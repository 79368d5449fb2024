"""Spark's Kafka source and sink: the options of a chain such as `frame.writeStream.format("kafka").option(…)`."""

import ast

from ops.check.reading.block import Block, Kind
from ops.check.reading.python_held import Held
from ops.check.reading.python_mapping import Reader
from ops.check.reading.python_values import value

ENDS: dict[str, Kind] = {"read": "consumer", "readStream": "consumer", "write": "producer", "writeStream": "producer"}


def spark_block(file: str, call: ast.Call, reader: Reader) -> Block | None:
    """The source or the sink, if the chain is one of Kafka's."""
    chain: list[tuple[str, ast.Call]] = []
    start: ast.expr = call
    while isinstance(start, ast.Call) and isinstance(start.func, ast.Attribute):
        chain.append((start.func.attr, start))
        start = start.func.value
    if not isinstance(start, ast.Attribute) or start.attr not in ENDS:
        return None
    held, of_kafka = Held(), False
    for name, step in reversed(chain):
        of_kafka = of_kafka or (name in ("format", "load", "save", "start") and "kafka" in texts(step, reader))
        held = held.merged(given(name, step, reader))
    if not of_kafka:
        return None
    settings = {name.removeprefix("kafka."): each for name, each in held.settings.items()}
    return Block(file, call.lineno, ENDS[start.attr], "spark", "", settings, held.opaque)


def given(name: str, step: ast.Call, reader: Reader) -> Held:
    """What one call of the chain sets."""
    if name == "options":
        return reader.arguments(step)
    if name != "option" or len(step.args) != 2:
        return Held()
    key = value(step.args[0], reader.scope, reader.names)
    return reader.one(key, step.args[1]) if key.known else Held(opaque=key.source)


def texts(call: ast.Call, reader: Reader) -> list[str]:
    """The plain arguments of a call, and the format that it names."""
    named = [each.value for each in call.keywords if each.arg in ("format", "source")]
    return [value(each, reader.scope, reader.names).text for each in [*call.args, *named]]
