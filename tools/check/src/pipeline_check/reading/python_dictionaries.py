"""What a dictionary in a Python source holds: literals, merges, and what is added to it later."""

import ast
from dataclasses import dataclass, field, replace

from pipeline_check.reading.block import Setting, Settings
from pipeline_check.reading.python_values import (
    DEEPEST,
    Function,
    Scope,
    Values,
    assigned_value,
    full_name,
    function_scope,
    text_of,
)

COPIES = ("dict", "copy.copy", "copy.deepcopy")


@dataclass(frozen=True)
class Contents:
    """What a dictionary holds, and where more may come from that cannot be seen."""

    settings: Settings = field(default_factory=dict)
    opaque: str = ""

    def merged(self, other: "Contents") -> "Contents":
        """Return this with another on top; what cannot be seen may replace everything before it."""
        mine = self.settings
        if other.opaque:
            mine = unknown_settings(mine, other.opaque)
        return Contents({**mine, **other.settings}, other.opaque or self.opaque)

    def under_condition(self, line: int) -> "Contents":
        """Return this for a statement that may not run."""
        why = f"line {line}, which runs under a condition"
        return Contents(unknown_settings(self.settings, why), self.opaque and why)

    def without(self, name: str) -> "Contents":
        """Return this without one setting."""
        kept = {key: each for key, each in self.settings.items() if key != name}
        return Contents(kept, self.opaque)


def unknown_settings(settings: Settings, source: str) -> Settings:
    """Return settings whose values are unknown, for a reason."""
    return {
        name: Setting(each.text, each.line, source, known=False) for name, each in settings.items()
    }


@dataclass(frozen=True)
class Dictionaries:
    """Reads dictionaries as one call sees them."""

    names: dict[str, str]  # what was imported as what
    scope: Scope
    before: int  # the line of the call: what comes later in its own scope does not count
    depth: int = 0

    def value(self, node: ast.expr) -> Setting:
        """Return the value of a single expression."""
        return Values(self.names, self.scope).value(node)

    def contents(self, node: ast.expr) -> Contents:
        """Return what an expression holds when the call is made."""
        if self.depth > DEEPEST:
            return Contents(opaque=text_of(node))
        deeper = replace(self, depth=self.depth + 1)
        if isinstance(node, ast.Dict):
            return deeper.of_literal(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            left = deeper.contents(node.left)
            return left.merged(deeper.contents(node.right))
        if isinstance(node, ast.Name):
            return deeper.of_name(node)
        if isinstance(node, ast.Call):
            return deeper.of_call(node)
        return Contents(opaque=text_of(node))

    def of_literal(self, node: ast.Dict) -> Contents:
        """Return what a literal holds, with its merges."""
        held = Contents()
        for key, inner in zip(node.keys, node.values, strict=True):
            if key is None:
                held = held.merged(self.contents(inner))
            else:
                held = held.merged(self.of_item(key, inner, opaque=text_of(key)))
        return held

    def of_item(self, key: ast.expr, node: ast.expr, opaque: str) -> Contents:
        """Return one setting; `opaque` says where it comes from if its name is unknown."""
        name = self.value(key)
        if not name.known:
            return Contents(opaque=opaque)
        if name.text == "default.topic.config":  # its members are settings like all others
            return self.contents(node)
        return Contents({name.text: self.value(node)})

    def of_call(self, node: ast.Call) -> Contents:
        """Return what dict(…), a copy, or a function of this module returns."""
        name = full_name(node.func, self.names)
        if name in COPIES:
            return self.of_arguments(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
            return self.contents(node.func.value)
        holder = self.scope.holder(name) if name.isidentifier() else None
        for statement, _ in holder.statements(name) if holder else []:
            result = only_return(statement)
            if holder and result and result.value and isinstance(statement, Function):
                inside = function_scope(statement, holder)
                reader = replace(self, scope=inside, before=result.lineno)
                return reader.contents(result.value)
        return Contents(opaque=text_of(node))

    def of_arguments(self, node: ast.Call) -> Contents:
        """Return what a call is given: dictionaries first, then keywords, as dict() takes them."""
        held = Contents()
        for argument in node.args:
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            held = held.merged(self.contents(inner))
        for keyword in node.keywords:
            if keyword.arg is None:
                held = held.merged(self.contents(keyword.value))
            else:
                held = held.merged(Contents({keyword.arg: self.value(keyword.value)}))
        return held

    def of_name(self, node: ast.Name) -> Contents:
        """Return what a name holds after every statement that comes before the call."""
        holder = self.scope.holder(node.id)
        if not holder:
            return Contents(opaque=node.id)
        if node.id in holder.parameters:
            return Contents(opaque=f"the parameter {node.id}")
        held = Contents(opaque=node.id)
        for statement, conditional in holder.statements(node.id):
            line = statement.lineno
            is_too_late = holder is self.scope and line >= self.before
            if is_too_late:
                continue
            reader = replace(self, scope=holder, before=line)
            after = reader.after_statement(held, statement)
            held = held.merged(after.under_condition(line)) if conditional else after
        return held

    def after_statement(self, held: Contents, statement: ast.stmt) -> Contents:
        """Return what a name holds after a statement that binds or changes it."""
        assigned = assigned_value(statement)
        if assigned:
            target, value = assigned
            if isinstance(target, ast.Name):
                return self.contents(value)
            if isinstance(target, ast.Subscript):
                item = self.of_item(target.slice, value, opaque=text_of(target))
                return held.merged(item)
        if isinstance(statement, ast.AugAssign):
            return held.merged(self.contents(statement.value))
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return self.after_call(held, statement.value)
        return held.merged(Contents(opaque=f"line {statement.lineno}"))

    def after_call(self, held: Contents, call: ast.Call) -> Contents:
        """Return what a name holds after update, setdefault or pop.

        Any other function that is given the dictionary may do anything to it.
        """
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method == "update":
            return held.merged(self.of_arguments(call))
        name = self.value(call.args[0]) if call.args else None
        if name and name.known:
            if method == "pop":
                return held.without(name.text)
            if method == "setdefault" and len(call.args) == 2:
                if held.opaque:
                    return held
                default = self.of_item(call.args[0], call.args[1], opaque="")
                return default.merged(Contents(held.settings))
        return held.merged(Contents(opaque=text_of(call)))


def only_return(statement: ast.stmt) -> ast.Return | None:
    """Return the only `return` with a value inside a statement, if there is exactly one."""
    found = [node for node in ast.walk(statement) if isinstance(node, ast.Return) and node.value]
    return found[0] if len(found) == 1 else None
