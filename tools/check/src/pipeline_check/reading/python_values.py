"""What an expression in a Python source is worth, without running it: a value, or where the value comes from."""

import ast
import operator
from collections.abc import Callable

from pipeline_check.reading.block import Setting
from pipeline_check.reading.python_imports import full_name
from pipeline_check.reading.python_scope import Scope
from pipeline_check.reading.python_settings import known, text_of, unknown

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
DEEPEST = 20  # names that lead to names


def value(node: ast.expr, scope: Scope, names: dict[str, str], depth: int = 0) -> Setting:
    """The value of an expression; what is not written in this module is unknown."""
    if isinstance(node, ast.Constant):
        return known(node.value, node.lineno)
    if isinstance(node, ast.Subscript) and full_name(node.value, names).endswith("environ"):
        return Setting("", node.lineno, f"the variable {text_of(node.slice)}", known=False)
    understood = UNDERSTOOD.get(type(node)) if depth <= DEEPEST else None
    return understood(node, scope, names, depth) if understood else unknown(node)


def bound(node: ast.Name, scope: Scope, names: dict[str, str], depth: int) -> Setting:
    """A name's value, if it is bound exactly once, and not under a condition."""
    holder = scope.holding(node.id)
    statements = holder.statements(node.id) if holder and node.id not in holder.parameters else []
    if holder and len(statements) == 1:
        statement, conditional = statements[0]
        if (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and statement.value
            and not conditional
        ):
            simple = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(simple, ast.Name):
                found = value(statement.value, holder, names, depth + 1)
                return Setting(found.text, node.lineno, found.source, found.known, found.literal)
    return unknown(node)


def called(node: ast.Call, scope: Scope, names: dict[str, str], depth: int) -> Setting:
    """The environment with its default, or a conversion; no other call is understood."""
    name = full_name(node.func, names)
    if name in ENVIRONMENT and node.args:
        variable = text_of(node.args[0])
        if len(node.args) < 2:
            return Setting("", node.lineno, f"the variable {variable}", known=False)
        default = value(node.args[1], scope, names, depth + 1)
        source = f"the variable {variable}, whose default is judged"
        return Setting(default.text, node.lineno, source, default.known, default.literal)
    if (
        isinstance(node.func, ast.Attribute)
        and node.func.attr in ("lower", "strip", "upper")
        and not node.args
    ):
        inner = value(node.func.value, scope, names, depth + 1)
        said = isinstance(inner.literal, str) and inner.known
        return (
            known(getattr(str(inner.literal), node.func.attr)(), node.lineno, inner.source)
            if said
            else inner
        )
    if name in CONVERSIONS and len(node.args) == 1:
        inner = value(node.args[0], scope, names, depth + 1)
        try:
            return (
                known(CONVERSIONS[name](inner.literal), node.lineno, inner.source)
                if inner.known
                else inner
            )
        except (TypeError, ValueError, OverflowError):
            return unknown(node)
    return unknown(node)


def compared(node: ast.Compare, scope: Scope, names: dict[str, str], depth: int) -> Setting:
    """A switch such as `os.environ.get("SAFE", "true") == "true"`."""
    sides = [value(each, scope, names, depth + 1) for each in (node.left, *node.comparators)]
    unseen = next((each for each in sides if not each.known), None)
    if unseen or len(sides) != 2 or not isinstance(node.ops[0], ast.Eq):
        return unseen or unknown(node)
    return known(
        sides[0].literal == sides[1].literal, node.lineno, sides[0].source or sides[1].source
    )


def calculated(
    node: ast.UnaryOp | ast.BinOp, scope: Scope, names: dict[str, str], depth: int
) -> Setting:
    """Plain arithmetic such as 5 * 60 * 1000."""
    sides = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
    found = [value(side, scope, names, depth + 1) for side in sides]
    numbers = [
        each.literal
        for each in found
        if isinstance(each.literal, int | float) and abs(each.literal) < 2**63
    ]
    if len(numbers) < len(sides) or not all(each.known for each in found):
        return unknown(node)
    source = next((each.source for each in found if each.source), "")
    if isinstance(node, ast.UnaryOp):
        return (
            known(-numbers[0], node.lineno, source)
            if isinstance(node.op, ast.USub)
            else unknown(node)
        )
    calculate = ARITHMETIC.get(type(node.op))
    return known(calculate(*numbers), node.lineno, source) if calculate else unknown(node)


UNDERSTOOD: dict[type[ast.expr], Callable[..., Setting]] = {
    ast.Name: bound,
    ast.Call: called,
    ast.Compare: compared,
    ast.UnaryOp: calculated,
    ast.BinOp: calculated,
}
