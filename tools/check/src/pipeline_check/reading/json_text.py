"""JSON to nodes: the standard library's parser does not say on which line a value stands."""

import re
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder

from pipeline_check.reading.node import DEPTH, Node
from pipeline_check.reading.unreadable import UnreadableError

STRINGS = JSONDecoder()  # at a quote it reads a string, and says where it ends
SPACE = re.compile(r"[ \t\n\r]*")
PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")


def parse_json(file: str, text: str) -> Node:
    """The document, or at which line it is not one."""
    try:
        node, end = Parser(text).value(0, 0)
        if end != len(text):
            raise JSONDecodeError("something stands behind the end", text, end)
    except JSONDecodeError as broken:
        raise UnreadableError(file, broken.lineno, f"not JSON: {broken.msg}") from None
    return node


class Parser:
    """A place in a text moves on with every value; lines are counted once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line, self.counted = 1, 0

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        """The value that starts here, and where the next token does."""
        at = self.skip(at)
        if depth > DEPTH:
            raise JSONDecodeError(f"nested deeper than {DEPTH}", self.text, at)
        line, first = self.line_at(at), self.text[at : at + 1]
        if first == "{":
            fields: dict[str, Node] = {}
            end = self.members(at, "}", lambda place: self.field(place, depth, fields))
            return Node(fields, line), end
        if first == "[":
            items: list[Node] = []
            end = self.members(at, "]", lambda place: self.item(place, depth, items))
            return Node(items, line), end
        if first == '"':
            string, end = STRINGS.raw_decode(self.text, at)
            return Node(string, line), self.skip(end)
        if found := PLAIN.match(self.text, at):
            return Node(found.group(), line, plain=True), self.skip(found.end())
        raise JSONDecodeError("a value is expected", self.text, at)

    def members(self, at: int, closing: str, member: Callable[[int], int]) -> int:
        """All members up to the closing bracket."""
        at = self.skip(at + 1)
        if self.text[at : at + 1] == closing:
            return self.skip(at + 1)
        while True:
            at = member(at)
            if self.text[at : at + 1] == closing:
                return self.skip(at + 1)
            at = self.expect(",", at)

    def field(self, at: int, depth: int, into: dict[str, Node]) -> int:
        """One name and its value."""
        if self.text[at : at + 1] != '"':
            raise JSONDecodeError("a name in double quotes is expected", self.text, at)
        name, at = STRINGS.raw_decode(self.text, at)
        into[name], at = self.value(self.expect(":", self.skip(at)), depth + 1)
        return at

    def item(self, at: int, depth: int, into: list[Node]) -> int:
        """One element of a list."""
        node, at = self.value(at, depth + 1)
        into.append(node)
        return at

    def expect(self, sign: str, at: int) -> int:
        """Behind a sign that must stand here."""
        if self.text[at : at + 1] != sign:
            raise JSONDecodeError(f"'{sign}' is expected", self.text, at)
        return self.skip(at + 1)

    def skip(self, at: int) -> int:
        """Behind white space."""
        space = SPACE.match(self.text, at)
        return space.end() if space else at

    def line_at(self, at: int) -> int:
        """The line of a place; places only ever move on."""
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line
