"""Names in Python sources: what a module binds, what a function binds, and what was imported as what."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

CHANGING = ("update", "setdefault", "pop")
TELLING = re.compile(r"^(print|pprint|len)$|log|warn|debug|info|error|Producer|Consumer")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Scope:
    """A module or a function, and what is around it."""

    body: list[ast.stmt]
    parent: "Scope | None" = None
    parameters: frozenset[str] = frozenset()
    name: str = ""
    bound: dict[str, list[tuple[ast.stmt, bool]]] = field(default_factory=dict)

    def statements(self, name: str) -> list[tuple[ast.stmt, bool]]:
        """The statements that bind a name or change what it holds, and whether each is under a condition."""
        if not self.bound:
            for statement, conditional in flattened(self.body, False):
                for each in names_changed(statement):
                    self.bound.setdefault(each, []).append((statement, conditional))
            self.bound.setdefault("", [])
        return self.bound.get(name, [])

    def holding(self, name: str) -> "Scope | None":
        """The nearest scope that binds the name."""
        if name in self.parameters or self.statements(name):
            return self
        return self.parent.holding(name) if self.parent else None


def flattened(body: list[ast.stmt], conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Statements in order, those of `with` and `try` as if they stood alone, those of `if` and loops conditional."""
    for statement in body:
        yield statement, conditional
        if isinstance(statement, Function | ast.ClassDef):
            continue
        straight = isinstance(statement, ast.With | ast.AsyncWith | ast.Try) or is_main(statement)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(statement, part, [])
            under = conditional or not straight or part in ("handlers", "orelse")
            for nested in (
                [each.body for each in inner] if part in ("handlers", "cases") else [inner]
            ):
                yield from flattened(nested, under)


def is_main(statement: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which is the program itself."""
    test = statement.test if isinstance(statement, ast.If) else None
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def names_changed(statement: ast.stmt) -> list[str]:
    """The names that a statement binds, fills or updates."""
    if isinstance(statement, ast.Assign):
        return [name for target in statement.targets if (name := root(target))]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value:
        return [root(statement.target)]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return names_given(statement.value)
    if isinstance(statement, Function):
        return [statement.name]
    return (
        [statement.target.id]
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name)
        else []
    )


def names_given(call: ast.Call) -> list[str]:
    """The names that a call may change: whose method it is, and what it is given, unless it only tells it."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in CHANGING:
        return [root(call.func.value)]
    called = ast.unparse(call.func)
    return (
        []
        if TELLING.search(called)
        else [each.id for each in call.args if isinstance(each, ast.Name)]
    )


def root(target: ast.expr) -> str:
    """The name that is bound, or whose item is set."""
    node = target.value if isinstance(target, ast.Subscript) else target
    return node.id if isinstance(node, ast.Name) else ""


def parameters(function: Function) -> frozenset[str]:
    """The names that the caller gives."""
    given = function.args
    every = [
        *given.posonlyargs,
        *given.args,
        *given.kwonlyargs,
        *filter(None, (given.vararg, given.kwarg)),
    ]
    return frozenset(each.arg for each in every)
