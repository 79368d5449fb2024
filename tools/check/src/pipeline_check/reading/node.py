"""A node: a value of a JSON or YAML document that knows its line."""

from collections.abc import Iterator
from dataclasses import dataclass

DEPTH = 100  # nobody writes this by hand; deeper is an attack on whoever reads it


@dataclass(frozen=True)
class Node:
    """A text, a list or a mapping; numbers, true and null are kept as the text that stands there."""

    value: "str | list[Node] | dict[str, Node]"
    line: int
    plain: bool = False  # not a string: null, a number, true

    def get(self, *path: str) -> "Node | None":
        """What lies under these names, if all of them are there."""
        node: Node | None = self
        for name in path:
            node = node.value.get(name) if node and isinstance(node.value, dict) else None
        return node

    def text(self, *path: str) -> str:
        """The text under these names; nothing if there is none."""
        node = self.get(*path)
        return node.value if node and isinstance(node.value, str) else ""

    def items(self) -> "list[tuple[str, Node]]":
        """The names and values of a mapping; none of anything else."""
        return list(self.value.items()) if isinstance(self.value, dict) else []

    def elements(self) -> "list[Node]":
        """The elements of a list; none of anything else."""
        return self.value if isinstance(self.value, list) else []


def flat(node: Node, prefix: str = "", limit: int = 20_000) -> "Iterator[tuple[str, Node]]":
    """Every text of a nested mapping under its dotted name; aliases may repeat parts, so there is a limit."""
    stack = [(prefix, node)]
    while stack and limit:
        name, node = stack.pop()
        if isinstance(node.value, str):
            limit -= 1
            yield name, node
        else:
            inner = node.items() or [
                (str(place), each) for place, each in enumerate(node.elements())
            ]
            stack += [(f"{name}.{key}" if name else key, each) for key, each in reversed(inner)][
                : limit + 1
            ]
