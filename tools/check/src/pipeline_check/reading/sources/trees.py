"""Syntax trees of sources in other languages, by the grammars of tree-sitter: an extra."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

GRAMMARS = {  # of each kind of file: the grammar's package, and its function
    ".java": ("tree_sitter_java", "language"),
    ".kt": ("tree_sitter_kotlin", "language"),
    ".go": ("tree_sitter_go", "language"),
    ".js": ("tree_sitter_javascript", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".cjs": ("tree_sitter_javascript", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
}
WITHOUT_GRAMMARS = "this kind of source: install pipeline-check[sources] to have it"
DEEPEST = 400  # nodes inside nodes; people write far less

Tree = Any  # a node of tree-sitter, which has no types of its own


class NoGrammarError(Exception):
    """The extra is not installed."""


@cache
def parser(suffix: str) -> Any:
    """Return the parser for a kind of file."""
    package, function = GRAMMARS[suffix]
    try:
        tree_sitter = import_module("tree_sitter")
        grammar = getattr(import_module(package), function)
    except ImportError as missing:
        raise NoGrammarError(WITHOUT_GRAMMARS) from missing
    return tree_sitter.Parser(tree_sitter.Language(grammar()))


def parse(suffix: str, text: str) -> Tree:
    """Return the root of a source; what is no such source has nodes of type ERROR."""
    return parser(suffix).parse(text.encode()).root_node


def walk(root: Tree) -> Iterator[Tree]:
    """Yield every named node, in the sequence of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.named_children)


def text_of(node: Tree) -> str:
    """Return the text of a node."""
    text: str = node.text.decode(errors="replace")
    return text


def line_of(node: Tree) -> int:
    """Return the line at which a node begins."""
    line: int = node.start_point[0] + 1
    return line


def ancestors(node: Tree) -> Iterator[Tree]:
    """Yield what is around a node, from the inside."""
    outer = node.parent
    while outer is not None:
        yield outer
        outer = outer.parent


def contains(outer: Tree, inner: Tree) -> bool:
    """Return whether a node is inside another one."""
    return bool(outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte)
