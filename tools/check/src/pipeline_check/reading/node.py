"""A node: a value of a JSON or YAML document that knows its line."""

from collections.abc import Iterator
from dataclasses import dataclass

DEPTH = 100  # no person nests deeper; it is an attack on the reader


@dataclass(frozen=True)
class Node:
    """A text, a list or a mapping; numbers, true and null are kept as their text."""

    value: "str | list[Node] | dict[str, Node]"
    line: int
    plain: bool = False  # not a string: null, a number, true

    def get(self, *path: str) -> "Node | None":
        """Return the node under these names, if all of them are there."""
        node: Node | None = self
        for name in path:
            if node is None or not isinstance(node.value, dict):
                return None
            node = node.value.get(name)
        return node

    def text(self, *path: str) -> str:
        """Return the text under these names, or an empty one."""
        node = self.get(*path)
        return node.value if node and isinstance(node.value, str) else ""

    def items(self) -> "list[tuple[str, Node]]":
        """Return the names and values of a mapping; none of anything else."""
        return list(self.value.items()) if isinstance(self.value, dict) else []

    def elements(self) -> "list[Node]":
        """Return the elements of a list; none of anything else."""
        return self.value if isinstance(self.value, list) else []


def flatten(root: Node, limit: int = 20_000) -> "Iterator[tuple[str, Node]]":
    """Yield every text of a nested mapping under its dotted name.

    Aliases may repeat parts, so there is a limit to the number of texts.
    """
    waiting = [("", root)]
    while waiting and limit:
        name, node = waiting.pop()
        if isinstance(node.value, str):
            limit -= 1
            yield name, node
            continue
        inner = node.items()
        if not inner:
            inner = [(str(place), each) for place, each in enumerate(node.elements())]
        named = [(f"{name}.{key}" if name else key, each) for key, each in reversed(inner)]
        waiting += named[: limit + 1]
