"""What a dictionary in a Python source holds: literals, merges, and what is added to it later."""

import ast
from dataclasses import dataclass, field, replace

from ops.check.reading.block import Setting
from ops.check.reading.python_scope import Function, Scope, full_name
from ops.check.reading.python_values import DEEPEST, text_of, unknown, value


@dataclass(frozen=True)
class Held:
    """Settings, and where more may come from that cannot be seen."""

    settings: dict[str, Setting] = field(default_factory=dict)
    opaque: str = ""

    def merged(self, other: "Held") -> "Held":
        """With another on top; what cannot be seen may change everything that was there before."""
        mine = self.settings
        if other.opaque:
            mine = {name: Setting(each.text, each.line, other.opaque, known=False) for name, each in mine.items()}
        return Held({**mine, **other.settings}, other.opaque or self.opaque)

    def under_condition(self, line: int) -> "Held":
        """The same, where nobody knows whether it happens."""
        why = f"line {line}, which runs under a condition"
        settings = {name: Setting(each.text, each.line, why, known=False) for name, each in self.settings.items()}
        return Held(settings, self.opaque and why)


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
            return deeper.bound(node)
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
                held = held.merged(self.one(name, inner) if name.known else Held(opaque=text_of(key)))
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
            returns = [each for each in ast.walk(statement) if isinstance(each, ast.Return) and each.value]
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
            held = held.merged(inner or Held({str(keyword.arg): value(keyword.value, self.scope, self.names)}))
        return held

    def bound(self, node: ast.Name) -> Held:
        """What a name holds after every statement that comes before the call."""
        holder = self.scope.holding(node.id)
        if not holder or node.id in holder.parameters:
            return Held(opaque=f"the parameter {node.id}" if holder else node.id)
        held = Held(opaque=node.id)
        inside = replace(self, scope=holder)
        for statement, conditional in holder.statements(node.id):
            if holder is not self.scope or statement.lineno < self.before:
                changed = replace(inside, before=statement.lineno).changed(held, statement)
                held = held.merged(changed.under_condition(statement.lineno)) if conditional else changed
        return held

    def changed(self, held: Held, statement: ast.stmt) -> Held:
        """What a name holds after one statement."""
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name):
                return self.read(statement.value)
            if isinstance(target, ast.Subscript):
                name = value(target.slice, self.scope, self.names)
                return held.merged(self.one(name, statement.value) if name.known else Held(opaque=text_of(target)))
        if isinstance(statement, ast.AugAssign):
            return held.merged(self.read(statement.value))
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return self.method(held, statement.value)
        return held.merged(Held(opaque=f"line {statement.lineno}"))

    def method(self, held: Held, call: ast.Call) -> Held:
        """update, setdefault or pop."""
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "update":
            return held.merged(self.arguments(call))
        name = value(call.args[0], self.scope, self.names) if call.args else unknown(call)
        if call.func.attr == "pop" and name.known:
            return Held({key: each for key, each in held.settings.items() if key != name.text}, held.opaque)
        if call.func.attr == "setdefault" and name.known and len(call.args) == 2:
            return self.one(name, call.args[1]).merged(Held(held.settings)) if not held.opaque else held
        return held.merged(Held(opaque=text_of(call)))


def parameters(function: Function) -> frozenset[str]:
    """The names that the caller gives."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return frozenset(each.arg for each in every)
