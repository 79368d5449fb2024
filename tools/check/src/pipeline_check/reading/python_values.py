"""What an expression in a Python source is worth, without running it.

A value is known where it is written in the same module: as a literal, behind a name that is bound
once, behind a conversion, a comparison or plain arithmetic. Of an environment variable the default
is known. Everything else is unknown, and keeps the expression that it comes from.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pipeline_check.reading.block import Setting

ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
CONVERSIONS: dict[str, Callable[..., object]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
}
ENVIRONMENT = ("os.environ.get", "os.getenv", "environ.get", "getenv")
TEXT_METHODS = ("lower", "strip", "upper")
DEEPEST = 20  # names that lead to names
LONGEST = 60  # characters of an expression in a message
CHANGING_METHODS = ("update", "setdefault", "pop")
# Calls that may be given a dictionary and do not change it.
HARMLESS = re.compile(r"^(print|pprint|len)$|log|warn|debug|info|error|Producer|Consumer")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Statement = tuple[ast.stmt, bool]  # and whether it runs under a condition


# Imports


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return each imported name with the full name of what it is."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.split(".")[0]
                found[alias.asname or package] = alias.name if alias.asname else package
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of what an expression names: ck.Producer is confluent_kafka.Producer."""
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, names)
        return f"{before}.{node.attr}" if before else ""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    return ""


# Scopes


@dataclass(frozen=True)
class Scope:
    """A module or a function, and what is around it."""

    body: list[ast.stmt]
    parent: "Scope | None" = None
    parameters: frozenset[str] = frozenset()
    name: str = ""
    cached: dict[str, list[Statement]] = field(default_factory=dict)

    def statements(self, name: str) -> list[Statement]:
        """Return the statements that bind a name or change what it holds."""
        if not self.cached:
            self.cached[""] = []  # so that an empty scope is looked through only once
            for statement, conditional in statements_in(self.body):
                for changed in names_changed(statement):
                    self.cached.setdefault(changed, []).append((statement, conditional))
        return self.cached.get(name, [])

    def holder(self, name: str) -> "Scope | None":
        """Return the nearest scope that binds a name."""
        if name in self.parameters or self.statements(name):
            return self
        return self.parent.holder(name) if self.parent else None


def function_scope(function: Function, parent: Scope) -> Scope:
    """Return the scope of a function."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    arguments += [each for each in (given.vararg, given.kwarg) if each]
    parameters = frozenset(each.arg for each in arguments)
    return Scope(function.body, parent, parameters, function.name)


def statements_in(body: list[ast.stmt], conditional: bool = False) -> Iterator[Statement]:
    """Yield statements in order, each with whether it runs under a condition.

    Those in `with` and `try` always run; those in `if`, loops and handlers may not.
    """
    for statement in body:
        yield statement, conditional
        if not isinstance(statement, Function | ast.ClassDef):
            for inner, always_runs in inner_bodies(statement):
                yield from statements_in(inner, conditional or not always_runs)


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
    if isinstance(statement, Function):
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
    return [each.id for each in call.args if isinstance(each, ast.Name)]


def target_name(target: ast.expr) -> str:
    """Return the name that is bound, or whose item is set."""
    node = target.value if isinstance(target, ast.Subscript) else target
    return node.id if isinstance(node, ast.Name) else ""


def assigned_value(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the (first) target and the value of an assignment."""
    if isinstance(statement, ast.Assign):
        return statement.targets[0], statement.value
    if isinstance(statement, ast.AnnAssign) and statement.value:
        return statement.target, statement.value
    return None


# Settings


def known_setting(literal: object, line: int, source: str = "") -> Setting:
    """Return a value that is written here, as text like the clients print it."""
    text = str(literal).lower() if isinstance(literal, bool) else str(literal)
    return Setting(text, line, source, literal=literal)


def unknown_setting(node: ast.expr, source: str = "") -> Setting:
    """Return a value that is only known when the program runs."""
    return Setting("", node.lineno, source or text_of(node), known=False)


def text_of(node: ast.expr) -> str:
    """Return an expression as it is written, shortened."""
    text = str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)
    if len(text) <= LONGEST:
        return text
    kept = text[: LONGEST - 3]
    return f"{kept}..."


# Values


@dataclass(frozen=True)
class Values:
    """Evaluates expressions in one scope of a module."""

    names: dict[str, str]  # what was imported as what
    scope: Scope
    depth: int = 0

    def value(self, node: ast.expr) -> Setting:
        """Return the value of an expression; what is not written in this module is unknown."""
        if isinstance(node, ast.Constant):
            return known_setting(node.value, node.lineno)
        if isinstance(node, ast.Subscript) and self.is_environment(node.value):
            return unknown_setting(node, f"the variable {text_of(node.slice)}")
        if self.depth > DEEPEST:
            return unknown_setting(node)
        inner = Values(self.names, self.scope, self.depth + 1)
        return inner.calculated(node)

    def calculated(self, node: ast.expr) -> Setting:
        """Return the value of an expression that is neither a constant nor the environment."""
        if isinstance(node, ast.Name):
            return self.of_name(node)
        if isinstance(node, ast.Call):
            return self.of_call(node)
        if isinstance(node, ast.Compare):
            return self.of_comparison(node)
        if isinstance(node, ast.UnaryOp):
            return self.of_sign(node)
        if isinstance(node, ast.BinOp):
            return self.of_arithmetic(node)
        return unknown_setting(node)

    def is_environment(self, node: ast.expr) -> bool:
        """Return whether an expression is `os.environ`."""
        return full_name(node, self.names).endswith("environ")

    def of_name(self, node: ast.Name) -> Setting:
        """Return a name's value if it is bound exactly once, and not under a condition."""
        holder = self.scope.holder(node.id)
        if not holder or node.id in holder.parameters:
            return unknown_setting(node)
        statements = holder.statements(node.id)
        statement, conditional = statements[0]
        assigned = assigned_value(statement)
        if len(statements) > 1 or conditional or not assigned:
            return unknown_setting(node)
        target, value = assigned
        if not isinstance(target, ast.Name):
            return unknown_setting(node)
        found = Values(self.names, holder, self.depth).value(value)
        return Setting(found.text, node.lineno, found.source, found.known, found.literal)

    def of_call(self, node: ast.Call) -> Setting:
        """Return the environment with its default, or a conversion; no other call is understood."""
        name = full_name(node.func, self.names)
        if name in ENVIRONMENT and node.args:
            return self.of_environment(node)
        method = node.func
        if isinstance(method, ast.Attribute) and method.attr in TEXT_METHODS and not node.args:
            return self.of_text_method(node, method)
        if name in CONVERSIONS and len(node.args) == 1:
            return self.of_conversion(node, CONVERSIONS[name])
        return unknown_setting(node)

    def of_environment(self, node: ast.Call) -> Setting:
        """Return the default of an environment variable."""
        variable = f"the variable {text_of(node.args[0])}"
        if len(node.args) < 2:
            return unknown_setting(node, variable)
        default = self.value(node.args[1])
        source = f"{variable}, whose default is judged"
        return Setting(default.text, node.lineno, source, default.known, default.literal)

    def of_text_method(self, node: ast.Call, method: ast.Attribute) -> Setting:
        """Return the value of `text.lower()` and its like."""
        inner = self.value(method.value)
        if not inner.known or not isinstance(inner.literal, str):
            return inner
        changed = getattr(inner.literal, method.attr)()
        return known_setting(changed, node.lineno, inner.source)

    def of_conversion(self, node: ast.Call, convert: Callable[..., object]) -> Setting:
        """Return the value of `int(text)` and its like."""
        inner = self.value(node.args[0])
        if not inner.known:
            return inner
        try:
            return known_setting(convert(inner.literal), node.lineno, inner.source)
        except (TypeError, ValueError, OverflowError):
            return unknown_setting(node)

    def of_comparison(self, node: ast.Compare) -> Setting:
        """Return the value of a switch such as `os.environ.get("SAFE", "true") == "true"`."""
        sides = [self.value(each) for each in (node.left, *node.comparators)]
        for side in sides:
            if not side.known:
                return side
        if len(sides) != 2 or not isinstance(node.ops[0], ast.Eq):
            return unknown_setting(node)
        left, right = sides
        is_equal = left.literal == right.literal
        return known_setting(is_equal, node.lineno, left.source or right.source)

    def of_sign(self, node: ast.UnaryOp) -> Setting:
        """Return the value of a negative number."""
        operand = self.value(node.operand)
        number = number_of(operand)
        if number is None or not isinstance(node.op, ast.USub):
            return unknown_setting(node)
        return known_setting(-number, node.lineno, operand.source)

    def of_arithmetic(self, node: ast.BinOp) -> Setting:
        """Return the value of plain arithmetic such as 5 * 60 * 1000."""
        calculate = ARITHMETIC.get(type(node.op))
        left = self.value(node.left)
        right = self.value(node.right)
        first = number_of(left)
        second = number_of(right)
        if first is None or second is None or not calculate:
            return unknown_setting(node)
        result = calculate(first, second)
        return known_setting(result, node.lineno, left.source or right.source)


def number_of(setting: Setting) -> float | None:
    """Return the number that a setting is, unless it is unknown or too large to calculate with."""
    literal = setting.literal
    if setting.known and isinstance(literal, int | float) and abs(literal) < 2**63:
        return literal
    return None
