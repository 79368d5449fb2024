"""What a dictionary in a Python source holds: literals, merges, and what is added to it later."""

import ast
from dataclasses import dataclass, replace

from pipeline_check.reading.block import Setting
from pipeline_check.reading.python_binding import held_by
from pipeline_check.reading.python_held import Held
from pipeline_check.reading.python_imports import full_name
from pipeline_check.reading.python_scope import Function, Scope, parameters
from pipeline_check.reading.python_settings import text_of
from pipeline_check.reading.python_values import DEEPEST, value


@dataclass(frozen=True)
class Reader:
    """Reads dictionaries where one call sees them."""

    names: dict[str, str]  # what was imported as what
    scope: Scope
    before: int  # the line of the call: what comes later does not count, in its own scope
    depth: int = 0

    def read(self, node: ast.expr) -> Held:
        """What the expression holds when the call is made."""
        if self.depth > DEEPEST:
            return Held(opaque=text_of(node))
        deeper = replace(self, depth=self.depth + 1)
        if isinstance(node, ast.Dict):
            return deeper.literal(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return deeper.read(node.left).merged(deeper.read(node.right))
        if isinstance(node, ast.Name):
            return held_by(deeper, node)
        if isinstance(node, ast.Call):
            return deeper.called(node)
        return Held(opaque=text_of(node))

    def literal(self, node: ast.Dict) -> Held:
        """A literal with its merges."""
        held = Held()
        for key, inner in zip(node.keys, node.values, strict=True):
            if key is None:
                held = held.merged(self.read(inner))
            else:
                name = value(key, self.scope, self.names)
                held = held.merged(
                    self.one(name, inner) if name.known else Held(opaque=text_of(key))
                )
        return held

    def one(self, name: Setting, node: ast.expr) -> Held:
        """One setting; the dictionary of topic settings is the same as its members."""
        if name.text == "default.topic.config":
            return self.read(node)
        return Held({name.text: value(node, self.scope, self.names)})

    def called(self, node: ast.Call) -> Held:
        """dict(…), a copy, or a function of this module that returns a dictionary."""
        name = full_name(node.func, self.names)
        if name in ("dict", "copy.copy", "copy.deepcopy"):
            return self.arguments(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
            return self.read(node.func.value)
        holder = self.scope.holding(name) if name.isidentifier() else None
        for statement, _ in holder.statements(name) if holder else []:
            returns = [
                each for each in ast.walk(statement) if isinstance(each, ast.Return) and each.value
            ]
            if isinstance(statement, Function) and len(returns) == 1 and returns[0].value:
                inside = Scope(statement.body, holder, parameters(statement), statement.name)
                return replace(self, scope=inside, before=returns[0].lineno).read(returns[0].value)
        return Held(opaque=text_of(node))

    def arguments(self, node: ast.Call) -> Held:
        """Dictionaries first, then keywords, as dict() takes them."""
        held = Held()
        for each in node.args:
            held = held.merged(self.read(each.value if isinstance(each, ast.Starred) else each))
        for keyword in node.keywords:
            inner = self.read(keyword.value) if keyword.arg is None else None
            held = held.merged(
                inner or Held({str(keyword.arg): value(keyword.value, self.scope, self.names)})
            )
        return held
