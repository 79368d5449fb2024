"""Spark's Kafka source and sink: the options of a chain such as `frame.writeStream.format("kafka").option(…)`."""

import ast

from pipeline_check.reading.block import Block, Kind
from pipeline_check.reading.python_held import Held
from pipeline_check.reading.python_mapping import Reader
from pipeline_check.reading.python_values import value

LAST = {
    "load",
    "save",
    "start",
    "table",
    "toTable",
    "saveAsTable",
}  # what makes the source or the sink
ENDS: dict[str, Kind] = {
    "read": "consumer",
    "readStream": "consumer",
    "write": "producer",
    "writeStream": "producer",
}


def spark_block(file: str, call: ast.Call, reader: Reader) -> Block | None:
    """The source or the sink, if the chain is one of Kafka's."""
    chain, start = links(call, reader)
    if not isinstance(start, ast.Attribute) or start.attr not in ENDS or chain[0][0] not in LAST:
        return None
    held, of_kafka = Held(), False
    for name, step in reversed(chain):
        of_kafka = of_kafka or (
            name in ("format", "load", "save", "start") and "kafka" in texts(step, reader)
        )
        held = held.merged(given(name, step, reader))
    if not of_kafka:
        return None
    settings = {name.removeprefix("kafka."): each for name, each in held.settings.items()}
    return Block(file, call.lineno, ENDS[start.attr], "spark", "", settings, held.opaque)


def links(call: ast.Call, reader: Reader) -> tuple[list[tuple[str, ast.Call]], ast.expr]:
    """The calls of a chain, the last one first, and what it begins with; names that hold a part of it are followed."""
    chain: list[tuple[str, ast.Call]] = []
    start: ast.expr = call
    before = call.lineno
    while True:
        if isinstance(start, ast.Call) and isinstance(start.func, ast.Attribute):
            chain.append((start.func.attr, start))
            start = start.func.value
        elif isinstance(start, ast.Name) and (held := last_assigned(start.id, before, reader)):
            start, before = held.value, held.lineno
        else:
            return chain, start


def last_assigned(name: str, before: int, reader: Reader) -> ast.Assign | None:
    """The last assignment to a name above a line."""
    holder = reader.scope.holding(name)
    above = [
        each
        for each, _ in (holder.statements(name) if holder else [])
        if isinstance(each, ast.Assign)
        and each.lineno < before
        and isinstance(each.targets[0], ast.Name)
    ]
    return above[-1] if above else None


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
