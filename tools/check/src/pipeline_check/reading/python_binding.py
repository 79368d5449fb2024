"""What a name holds in a Python source: after its assignment, and after everything that was added or may have been."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline_check.reading.python_held import Held
from pipeline_check.reading.python_settings import text_of, unknown
from pipeline_check.reading.python_values import value

if TYPE_CHECKING:
    from pipeline_check.reading.python_mapping import Reader


def held_by(reader: "Reader", node: ast.Name) -> Held:
    """What a name holds after every statement that comes before the call."""
    holder = reader.scope.holding(node.id)
    if not holder or node.id in holder.parameters:
        return Held(opaque=f"the parameter {node.id}" if holder else node.id)
    held = Held(opaque=node.id)
    inside = replace(reader, scope=holder)
    for statement, conditional in holder.statements(node.id):
        if holder is not reader.scope or statement.lineno < reader.before:
            then = changed(replace(inside, before=statement.lineno), held, statement)
            held = held.merged(then.under_condition(statement.lineno)) if conditional else then
    return held


def changed(reader: "Reader", held: Held, statement: ast.stmt) -> Held:
    """What a name holds after one statement."""
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if isinstance(target, ast.Name):
            return reader.read(statement.value)
        if isinstance(target, ast.Subscript):
            name = value(target.slice, reader.scope, reader.names)
            return held.merged(
                reader.one(name, statement.value) if name.known else Held(opaque=text_of(target))
            )
    if isinstance(statement, ast.AugAssign):
        return held.merged(reader.read(statement.value))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return called(reader, held, statement.value)
    return held.merged(Held(opaque=f"line {statement.lineno}"))


def called(reader: "Reader", held: Held, call: ast.Call) -> Held:
    """update, setdefault or pop; a function that is given the dictionary may do anything to it."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method == "update":
        return held.merged(reader.arguments(call))
    name = value(call.args[0], reader.scope, reader.names) if call.args else unknown(call)
    if method == "pop" and name.known:
        return Held(
            {key: each for key, each in held.settings.items() if key != name.text}, held.opaque
        )
    if method == "setdefault" and name.known and len(call.args) == 2:
        return (
            reader.one(name, call.args[1]).merged(Held(held.settings)) if not held.opaque else held
        )
    return held.merged(Held(opaque=text_of(call)))
