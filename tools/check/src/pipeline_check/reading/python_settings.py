"""A setting in a Python source: a value that is there, or the expression that it comes from."""

import ast

from pipeline_check.reading.block import Setting


def known(literal: object, line: int, source: str = "") -> Setting:
    """A value that is there, as text like the clients print it."""
    text = str(literal).lower() if isinstance(literal, bool) else str(literal)
    return Setting(text, line, source, literal=literal)


def unknown(node: ast.expr) -> Setting:
    """A value that only running the program would tell."""
    return Setting("", node.lineno, text_of(node), known=False)


def text_of(node: ast.expr) -> str:
    """The expression as it is written, shortened."""
    text = str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."
