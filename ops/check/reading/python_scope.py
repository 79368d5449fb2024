"""Names in Python sources: what a module binds, what a function binds, and what was imported as what."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

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
            for nested in [each.body for each in inner] if part in ("handlers", "cases") else [inner]:
                yield from flattened(nested, under)


def is_main(statement: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which is the program itself."""
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def names_changed(statement: ast.stmt) -> list[str]:
    """The names that a statement binds, fills or updates."""
    if isinstance(statement, ast.Assign):
        return [name for target in statement.targets if (name := root(target))]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value:
        return [root(statement.target)]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        if isinstance(called, ast.Attribute) and called.attr in ("update", "setdefault", "pop"):
            return [root(called.value)]
    if isinstance(statement, Function):
        return [statement.name]
    return [statement.target.id] if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name) else []


def root(target: ast.expr) -> str:
    """The name that is bound, or whose item is set."""
    node = target.value if isinstance(target, ast.Subscript) else target
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.Module) -> dict[str, str]:
    """Each imported name with the full name of what it is."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """The full name of what an expression names: ck.Producer is confluent_kafka.Producer."""
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, names)
        return f"{before}.{node.attr}" if before else ""
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else ""
