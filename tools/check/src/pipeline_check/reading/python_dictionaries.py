"""What a dictionary in a Python source holds: literals, merges, and what is added to it later."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline_check.reading.block import Setting, Settings
from pipeline_check.reading.python_definitions import (
    Definition,
    changed_in,
    default_of,
    find_class,
    find_definition,
    is_declared,
    is_own,
    only_return,
)
from pipeline_check.reading.python_scopes import (
    Function,
    Scope,
    assigned_value,
    full_name,
    function_scope,
    target_name,
)
from pipeline_check.reading.python_values import DEEPEST, Values, text_of

END = 10**9  # a line behind all others
DUMPS = ("dict", "model_dump")  # pydantic's, before and since its second version
DECLARING_BASES = {"BaseSettings", "BaseModel"}
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

    def or_else(self, after: "Contents", line: int) -> "Contents":
        """Return this where a statement may have run: what it would change is unknown."""
        why = f"line {line}, which runs under a condition"
        changed = {
            name: after.settings.get(name) or each
            for name, each in (self.settings | after.settings).items()
            if self.settings.get(name) != after.settings.get(name)
        }
        opaque = self.opaque if self.opaque == after.opaque else why
        unsure = {
            name: replace(each, certain=False)
            for name, each in unknown_settings(changed, why).items()
        }
        return Contents(self.settings | unsure, opaque)

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
        read = READERS.get(type(node))
        if not read:
            return Contents(opaque=text_of(node))
        return read(replace(self, depth=self.depth + 1), node)

    def of_merge(self, node: ast.BinOp) -> Contents:
        """Return what `one | other` holds."""
        if not isinstance(node.op, ast.BitOr):
            return Contents(opaque=text_of(node))
        left = self.contents(node.left)
        return left.merged(self.contents(node.right))

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
        fields = self.of_fields(node)
        if fields:
            return fields
        found = find_definition(node.func, self.names, self.scope)
        result = only_return(found.node) if found and isinstance(found.node, Function) else None
        if found and result and result.value and isinstance(found.node, Function):
            inside = function_scope(found.node, found.scope.module()).owned_by(found.scope.owner)
            place = found._replace(node=result.value, scope=inside)
            return self.of_place(place, node.lineno, before=result.lineno)
        return Contents(opaque=text_of(node))

    def of_fields(self, node: ast.Call) -> Contents | None:
        """Return the fields of `settings.model_dump()`, of a class that declares them."""
        method = node.func
        if not isinstance(method, ast.Attribute) or method.attr not in DUMPS or node.args:
            return None
        options = {each.arg: each.value for each in node.keywords}
        if not options.keys() <= {"exclude", "exclude_none"}:
            return None
        owner = find_class(method.value, self.names, self.scope, 0)
        if not owner or not isinstance(owner.node, ast.ClassDef):
            return None
        if not is_declared(owner.node, owner.names) or has_other_bases(owner):
            return None
        excluded = ast.unparse(options["exclude"]) if "exclude" in options else ""
        settings = {}
        for name, default in declared_fields(owner.node):
            if repr(name) in excluded:
                continue
            source = f"{owner.node.name}.{name}"
            setting = Setting("", node.lineno, source, known=False)
            if default is not None:
                value = Values(owner.names, owner.scope).value(default)
                judged = f"{source}, whose default is judged"
                setting = replace(value, line=node.lineno, source=value.source or judged)
            settings[name] = setting
        return Contents(settings)

    def of_definition(self, node: ast.expr) -> Contents:
        """Return what an attribute holds, or a name of another module."""
        if isinstance(node, ast.Attribute) and is_filled_here(node, self.scope):
            return self.of_statements(target_name(node), self.scope)
        found = find_definition(node, self.names, self.scope)
        if not found or not isinstance(found.node, ast.expr):
            return Contents(opaque=text_of(node))
        return self.of_place(found, node.lineno, before=END)

    def of_place(self, found: Definition, line: int, before: int) -> Contents:
        """Return what an expression holds where it stands; lines of other files are not shown."""
        assert isinstance(found.node, ast.expr)
        reader = replace(self, names=found.names, scope=found.scope, before=before)
        held = reader.contents(found.node)
        if not found.elsewhere:
            return held
        settings = {name: replace(each, line=line) for name, each in held.settings.items()}
        return Contents(settings, held.opaque)

    def of_part(self, node: ast.Subscript) -> Contents:
        """Return a part of a nested dictionary, such as CONFIG["producer"]."""
        whole = node.value
        found = find_definition(whole, self.names, self.scope)
        key = self.value(node.slice)
        literal = found.node if found else None
        if found and isinstance(literal, ast.Dict) and key.known:
            for name, inner in zip(literal.keys, literal.values, strict=True):
                if name and self.value(name).text == key.text:
                    place = found._replace(node=inner)
                    return self.of_place(place, node.lineno, before=END)
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
            return self.of_definition(node)
        if node.id in holder.parameters:
            return self.of_parameter(node.id, holder)
        return self.of_statements(node.id, holder)

    def of_statements(self, name: str, holder: Scope) -> Contents:
        """Return what a name, or an attribute, holds after the statements before the call."""
        held = Contents(opaque=name)
        for statement in holder.statements(name):
            line = statement.node.lineno
            is_too_late = holder.body is self.scope.body and line >= self.before
            if is_too_late:
                continue
            reader = replace(self, scope=holder, before=line)
            after = reader.after_statement(held, statement.node)
            is_sure = not statement.may_not_run(self.before)
            held = after if is_sure else held.or_else(after, line)
        return held

    def of_parameter(self, name: str, holder: Scope) -> Contents:
        """Return what a parameter is given by the only call of its function in this module."""
        module = holder.module()
        given = only_argument(name, holder, module)
        if given is None:
            return Contents(opaque=f"the parameter {name}")
        return replace(self, scope=module, before=END, depth=self.depth + 1).contents(given)

    def after_statement(self, held: Contents, statement: ast.stmt) -> Contents:
        """Return what a name holds after a statement that binds or changes it."""
        assigned = assigned_value(statement)
        if assigned:
            target, value = assigned
            if isinstance(target, ast.Name | ast.Attribute):
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


def is_filled_here(node: ast.Attribute, scope: Scope) -> bool:
    """Return whether one method binds an attribute and fills it, and no other one touches it."""
    name = target_name(node)
    statements = scope.statements(name) if name and scope.owner else []
    if len(statements) < 2 or not scope.owner or not assigned_value(statements[0].node):
        return False
    first, last = scope.body[0].lineno, scope.body[-1].end_lineno or 0
    touched = [each for each in changed_in(scope.owner) if is_own(each, node.attr)]
    touched += [
        target
        for statement in ast.walk(scope.owner)
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if target is not None and is_own(target, node.attr)
    ]
    return all(first <= each.lineno <= last for each in touched)


def has_other_bases(owner: Definition) -> bool:
    """Return whether a class may have fields of a base that is not pydantic's own."""
    assert isinstance(owner.node, ast.ClassDef)
    bases = {full_name(base, owner.names).rpartition(".")[2] for base in owner.node.bases}
    return not bases <= DECLARING_BASES


def declared_fields(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the fields that a class declares, each with its default."""
    for statement in owner.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = default_of(statement.value) if statement.value else None
            yield statement.target.id, None if is_required(value) else value


def is_required(value: ast.expr | None) -> bool:
    """Return whether this is what `Field(...)` leaves where there is no default."""
    is_ellipsis = isinstance(value, ast.Constant) and value.value is ...
    return is_ellipsis or isinstance(value, ast.Call)


def only_argument(name: str, function: Scope, module: Scope) -> ast.expr | None:
    """Return the argument of a parameter in the only call of a function, or of its class."""
    is_constructor = function.name == "__init__" and function.owner is not None
    called = function.owner.name if is_constructor and function.owner else function.name
    calls = [
        node
        for statement in module.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == called
    ]
    if len(calls) != 1 or not called:
        return None
    for keyword in calls[0].keywords:
        if keyword.arg == name:
            return keyword.value
    place = (
        list(function.positions).index(name) - is_constructor if name in function.positions else -1
    )
    arguments = calls[0].args
    return arguments[place] if 0 <= place < len(arguments) else None


READERS: dict[type[ast.expr], Callable[[Dictionaries, Any], Contents]] = {
    ast.Dict: Dictionaries.of_literal,
    ast.BinOp: Dictionaries.of_merge,
    ast.Name: Dictionaries.of_name,
    ast.Call: Dictionaries.of_call,
    ast.Attribute: Dictionaries.of_definition,
    ast.Subscript: Dictionaries.of_part,
}
