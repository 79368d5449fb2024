"""The scopes of a Python source: what binds a name, and under which condition."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

CHANGING_METHODS = ("update", "setdefault", "pop")
# Calls that may be given a dictionary and do not change it.
HARMLESS = re.compile(r"^(print|pprint|len)$|log|warn|debug|info|error|Producer|Consumer")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Statement(NamedTuple):
    """A statement that binds or changes a name, and the lines that run together with it."""

    node: ast.stmt
    together: tuple[int, int] | None  # the body under the same condition; none if it always runs

    def may_not_run(self, line: int) -> bool:
        """Return whether a line may run although this did not."""
        if self.together is None:
            return False
        first, last = self.together
        return not first <= line <= last


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return each imported name with the full name of what it is."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.split(".")[0]
                found[alias.asname or package] = alias.name if alias.asname else package
        elif isinstance(node, ast.ImportFrom):
            module = f"{node.module}." if node.module else ""
            for alias in node.names:
                found[alias.asname or alias.name] = f"{'.' * node.level}{module}{alias.name}"
    return found


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of what an expression names: ck.Producer is confluent_kafka.Producer."""
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, names)
        return f"{before}.{node.attr}" if before else ""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    return ""


@dataclass(frozen=True)
class Scope:
    """A module or a function, and what is around it."""

    body: list[ast.stmt]
    parent: "Scope | None" = None
    parameters: frozenset[str] = frozenset()
    name: str = ""
    cached: dict[str, list[Statement]] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)  # of the parameters
    positions: tuple[str, ...] = ()  # the parameters that a call may give by their place
    defaults: dict[str, ast.expr] = field(default_factory=dict)  # of the parameters
    owner: ast.ClassDef | None = None  # the class that is around it
    file: str = ""

    def statements(self, name: str) -> list[Statement]:
        """Return the statements that bind a name or change what it holds."""
        if not self.cached:
            self.cached[""] = []  # so that an empty scope is looked through only once
            for statement in statements_in(self.body):
                for changed in names_changed(statement.node):
                    self.cached.setdefault(changed, []).append(statement)
        return self.cached.get(name, [])

    def holder(self, name: str) -> "Scope | None":
        """Return the nearest scope that binds a name."""
        if name in self.parameters or self.statements(name):
            return self
        return self.parent.holder(name) if self.parent else None

    def module(self) -> "Scope":
        """Return the outermost scope."""
        return self.parent.module() if self.parent else self

    def owned_by(self, owner: ast.ClassDef | None) -> "Scope":
        """Return the same scope inside a class."""
        return replace(self, owner=owner)


def function_scope(function: Function, parent: Scope) -> Scope:
    """Return the scope of a function."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    arguments += [each for each in (given.vararg, given.kwarg) if each]
    return Scope(
        function.body,
        parent,
        frozenset(each.arg for each in arguments),
        function.name,
        annotations={each.arg: each.annotation for each in arguments if each.annotation},
        positions=tuple(each.arg for each in [*given.posonlyargs, *given.args]),
        defaults=defaults_of(given),
        owner=parent.owner,
        file=parent.file,
    )


def defaults_of(given: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults of parameters by their names."""
    positional = [*given.posonlyargs, *given.args]
    first = len(positional) - len(given.defaults)
    found = {
        each.arg: default for each, default in zip(positional[first:], given.defaults, strict=True)
    }
    for each, named in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if named is not None:
            found[each.arg] = named
    return found


def statements_in(
    body: list[ast.stmt], together: tuple[int, int] | None = None
) -> Iterator[Statement]:
    """Yield statements in order, each with the lines that run together with it.

    Those in `with` and `try` always run; those in `if`, loops and handlers may not.
    """
    for node in body:
        yield Statement(node, together)
        if not isinstance(node, Function | ast.ClassDef):
            for inner, always_runs in inner_bodies(node):
                if inner:
                    yield from statements_in(inner, together if always_runs else lines_of(inner))


def lines_of(body: list[ast.stmt]) -> tuple[int, int]:
    """Return the first and the last line of a body."""
    last = body[-1]
    return body[0].lineno, last.end_lineno or last.lineno


def inner_bodies(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Yield the bodies inside a statement, each with whether it always runs with the statement."""
    unconditional = isinstance(statement, ast.With | ast.AsyncWith | ast.Try)
    unconditional = unconditional or is_main_guard(statement)
    yield getattr(statement, "body", []), unconditional
    yield getattr(statement, "orelse", []), False
    yield getattr(statement, "finalbody", []), unconditional
    for handler in getattr(statement, "handlers", []):
        yield handler.body, False
    for case in getattr(statement, "cases", []):
        yield case.body, unconditional


def is_main_guard(statement: ast.stmt) -> bool:
    """Return whether this is `if __name__ == "__main__":`, which is the program itself."""
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Compare):
        return False
    left = statement.test.left
    return isinstance(left, ast.Name) and left.id == "__name__"


def names_changed(statement: ast.stmt) -> list[str]:
    """Return the names that a statement binds, fills or updates."""
    if isinstance(statement, ast.Assign):
        names = [target_name(target) for target in statement.targets]
        return [name for name in names if name]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value:
        return [target_name(statement.target)]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return names_given(statement.value)
    if isinstance(statement, Function | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def names_given(call: ast.Call) -> list[str]:
    """Return the names that a call may change: the one whose method it is, or its arguments."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in CHANGING_METHODS:
        return [target_name(call.func.value)]
    if HARMLESS.search(ast.unparse(call.func)):
        return []
    return [name for name in map(target_name, call.args) if name]


def target_name(target: ast.expr) -> str:
    """Return the name that is bound, or whose item is set: `conf`, or `self.conf`."""
    node = target.value if isinstance(target, ast.Subscript) else target
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"self.{node.attr}" if node.value.id == "self" else ""
    return node.id if isinstance(node, ast.Name) else ""


def assigned_value(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the (first) target and the value of an assignment."""
    if isinstance(statement, ast.Assign):
        return statement.targets[0], statement.value
    if isinstance(statement, ast.AnnAssign) and statement.value:
        return statement.target, statement.value
    return None
