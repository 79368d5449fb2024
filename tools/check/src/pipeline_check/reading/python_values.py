"""What an expression in a Python source is worth, without running it.

A value is known where it is written in the project: as a literal, behind a name or an attribute
that is bound once, behind a conversion, a comparison or plain arithmetic. Of an environment
variable, and of a field of pydantic's settings, the default is known. Everything else is unknown,
and keeps the expression that it comes from.
"""

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline_check.reading.block import Setting
from pipeline_check.reading.python_callers import default_that_holds
from pipeline_check.reading.python_definitions import find_definition
from pipeline_check.reading.python_scopes import Scope, assigned_value, full_name

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
        read = READERS.get(type(node))
        return read(self, node) if read else unknown_setting(node)

    def is_environment(self, node: ast.expr) -> bool:
        """Return whether an expression is `os.environ`."""
        return full_name(node, self.names).endswith("environ")

    def of_name(self, node: ast.Name) -> Setting:
        """Return a name's value if it is bound exactly once, and not under a condition."""
        holder = self.scope.holder(node.id)
        if not holder:
            return self.of_definition(node)
        if node.id in holder.parameters:
            return self.of_parameter(node, holder)
        statements = holder.statements(node.id)
        first = statements[0]
        assigned = assigned_value(first.node)
        if len(statements) > 1 or first.may_not_run(node.lineno) or not assigned:
            return unknown_setting(node)
        target, value = assigned
        if not isinstance(target, ast.Name):
            return unknown_setting(node)
        found = Values(self.names, holder, self.depth).value(value)
        return Setting(found.text, node.lineno, found.source, found.known, found.literal)

    def of_parameter(self, node: ast.Name, holder: Scope) -> Setting:
        """Return a parameter's default, where no caller in the project gives another value."""
        is_changed = bool(holder.statements(node.id))
        default = None if is_changed else default_that_holds(node.id, holder)
        if default is None:
            return unknown_setting(node)
        found = Values(self.names, holder.module(), self.depth).value(default)
        source = f"the parameter {node.id}, whose default is judged"
        return Setting(found.text, node.lineno, source, found.known, found.literal)

    def of_definition(self, node: ast.expr) -> Setting:
        """Return the value of an attribute, or of a name from another module."""
        found = find_definition(node, self.names, self.scope)
        if not found or not isinstance(found.node, ast.expr):
            return unknown_setting(node)
        value = Values(found.names, found.scope, self.depth + 1).value(found.node)
        source = value.source or found.source
        return Setting(value.text, node.lineno, source, value.known, value.literal)

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

    def of_tuple(self, node: ast.Tuple) -> Setting:
        """Return a tuple such as a version, whose parts are all known."""
        parts = [self.value(part) for part in node.elts]
        if not all(part.known for part in parts):
            return unknown_setting(node)
        return known_setting(tuple(part.literal for part in parts), node.lineno)

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


READERS: dict[type[ast.expr], Callable[[Values, Any], Setting]] = {
    ast.Name: Values.of_name,
    ast.Attribute: Values.of_definition,
    ast.Call: Values.of_call,
    ast.Compare: Values.of_comparison,
    ast.UnaryOp: Values.of_sign,
    ast.BinOp: Values.of_arithmetic,
    ast.Tuple: Values.of_tuple,
}


def number_of(setting: Setting) -> float | None:
    """Return the number that a setting is, unless it is unknown or too large to calculate with."""
    literal = setting.literal
    if setting.known and isinstance(literal, int | float) and abs(literal) < 2**63:
        return literal
    return None
