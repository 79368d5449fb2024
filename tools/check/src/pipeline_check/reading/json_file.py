"""JSON: connectors, bare, as `{"name", "config"}` or as Connect's REST API; and lists of topics.

The parser is our own, because that of the standard library does not tell the line of a value.
"""

import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder

from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.node import DEPTH, Node
from pipeline_check.reading.placeholder import connect_setting
from pipeline_check.reading.unreadable import UnreadableError

STRINGS = JSONDecoder()  # at a quote it reads a string, and returns where it ends
SPACE = re.compile(r"[ \t\n\r]*")
# A line that begins as a comment, and one behind a comma: people write them all the same.
LINE_COMMENT = re.compile(r"^[ \t]*(?://|#)[^\n]*|(?<=[,{\[])[ \t]*//[^\n]*", re.MULTILINE)
PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")


def read_json(file: str, text: str) -> list[Block]:
    """Return every connector and every topic in a document; other JSON holds none."""
    try:
        document = parse_json(file, text)
    except UnreadableError as broken:
        if "{{" not in text:
            raise
        return [Block(file, broken.line, "unjudged", "a template, whose result nobody knows here")]
    found = [connector_block(file, name, config) for name, config in connectors(document, "")]
    for name, node in document.items():
        if node.get("partitions"):
            found.append(topic_block(file, name, node))
    return found


def connectors(node: Node, name: str) -> Iterator[tuple[str, Node]]:
    """Yield names and configurations, wherever the API or a person put them."""
    config = node.get("config")
    info = node.get("info")  # GET /connectors?expand=info
    if node.get("connector.class"):
        yield node.text("name") or name, node
    elif config:
        yield from connectors(config, node.text("name") or name)
    elif info:
        yield from connectors(info, name)
    else:
        children = node.items() or [("", each) for each in node.elements()]
        for key, child in children:
            if child.get("connector.class") or child.get("config") or child.get("info"):
                yield from connectors(child, key)


def connector_block(file: str, name: str, config: Node) -> Block:
    """Return one connector's settings."""
    settings = {}
    for key, node in config.items():
        if isinstance(node.value, str):
            settings[key] = connect_setting(node.value, node.line)
    return Block(file, config.line, "connector", "connect", name, settings)


def topic_block(file: str, name: str, node: Node) -> Block:
    """Return a topic that has `partitions`, and maybe `replication_factor` and `config`."""
    settings = {}
    config = node.get("config")
    for key, each in config.items() if config else []:
        if isinstance(each.value, str):
            settings[key] = Setting(each.value, each.line)
    copies = node.get("replication_factor")
    if copies and isinstance(copies.value, str):
        settings["replication.factor"] = Setting(copies.value, copies.line)
    return Block(
        file,
        node.line,
        "topic",
        "java",
        name,
        settings,
        opaque="" if copies else "the program that creates the topic",
    )


def parse_json(file: str, text: str) -> Node:
    """Return the document, or say at which line it is not one; only .jsonc may have comments."""
    if file.endswith(".jsonc"):
        text = LINE_COMMENT.sub("", without_blocks(text))
    try:
        return parse_strictly(text)
    except JSONDecodeError as broken:
        raise UnreadableError(file, broken.lineno, f"not JSON: {broken.msg}") from None


def without_blocks(text: str) -> str:
    """Return a text with as many empty lines for each comment between its signs."""
    kept: list[str] = []
    at = 0
    while True:
        start = text.find("/*", at)
        end = text.find("*/", start + 2) if start >= 0 else -1
        if end < 0:
            return "".join([*kept, text[at:]])
        kept += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + 2


def parse_strictly(text: str) -> Node:
    """Return the document of a text that has nothing else."""
    node, end = Parser(text).value(0, 0)
    if end != len(text):
        raise JSONDecodeError("something follows the end", text, end)
    return node


class Parser:
    """A parser whose places only move on, so that it counts each line once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line = 1
        self.counted = 0

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        """Return the value that starts here, and where the next token does."""
        at = self.skip_space(at)
        if depth > DEPTH:
            raise JSONDecodeError(f"nested deeper than {DEPTH}", self.text, at)
        first = self.sign(at)
        if first == "{":
            return self.mapping(at, depth)
        if first == "[":
            return self.sequence(at, depth)
        line = self.line_at(at)
        if first == '"':
            string, end = STRINGS.raw_decode(self.text, at)
            return Node(string, line), self.skip_space(end)
        found = PLAIN.match(self.text, at)
        if not found:
            raise JSONDecodeError("a value is expected", self.text, at)
        return Node(found.group(), line, plain=True), self.skip_space(found.end())

    def mapping(self, at: int, depth: int) -> tuple[Node, int]:
        """Return a mapping, and where the next token starts."""
        line = self.line_at(at)
        fields: dict[str, Node] = {}

        def field(place: int) -> int:
            if self.sign(place) != '"':
                raise JSONDecodeError("a name in double quotes is expected", self.text, place)
            name, end = STRINGS.raw_decode(self.text, place)
            start = self.expect(":", self.skip_space(end))
            fields[name], place = self.value(start, depth + 1)
            return place

        end = self.members(at, "}", field)
        return Node(fields, line), end

    def sequence(self, at: int, depth: int) -> tuple[Node, int]:
        """Return a list, and where the next token starts."""
        line = self.line_at(at)
        items: list[Node] = []

        def item(place: int) -> int:
            node, place = self.value(place, depth + 1)
            items.append(node)
            return place

        end = self.members(at, "]", item)
        return Node(items, line), end

    def members(self, at: int, closing: str, member: Callable[[int], int]) -> int:
        """Read all members up to the closing bracket; return the place behind it."""
        at = self.skip_space(at + 1)
        if self.sign(at) == closing:
            return self.skip_space(at + 1)
        while True:
            at = member(at)
            if self.sign(at) == closing:
                return self.skip_space(at + 1)
            at = self.expect(",", at)

    def expect(self, sign: str, at: int) -> int:
        """Return the place behind a sign that must be here."""
        if self.sign(at) != sign:
            raise JSONDecodeError(f"'{sign}' is expected", self.text, at)
        return self.skip_space(at + 1)

    def sign(self, at: int) -> str:
        """Return the character at a place; nothing at the end."""
        return self.text[at : at + 1]

    def skip_space(self, at: int) -> int:
        """Return the place behind white space."""
        space = SPACE.match(self.text, at)
        return space.end() if space else at

    def line_at(self, at: int) -> int:
        """Return the line of a place; places only ever move on."""
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line
