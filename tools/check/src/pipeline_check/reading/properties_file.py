"""Java's .properties: what `java.util.Properties` makes of a file, with the line of each key."""

import re

from pipeline_check.reading.block import Block, Setting, Settings
from pipeline_check.reading.classify import classify
from pipeline_check.reading.frameworks import framework_blocks
from pipeline_check.reading.spring import spring_blocks
from pipeline_check.reading.unreadable import UnreadableError

ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,4}|.)", re.DOTALL)
ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
LINE_END = re.compile(r"\r\n|\r|\n")


def read_properties(file: str, text: str) -> list[Block]:
    """Read a .properties file."""
    return flat_blocks(file, parse_properties(file, text))


def flat_blocks(file: str, settings: Settings) -> list[Block]:
    """Return what flat settings hold: Spring's own names, or Kafka's."""
    found = framework_blocks(file, settings)
    of_binder = any(block.client == "spring-cloud-stream" for block in found)
    for block in spring_blocks(file, settings):
        if block.kind == "consumer" or not of_binder:  # the binder's producers have it all
            found.append(block)
    rest = {name: each for name, each in settings.items() if not name.startswith("spring.kafka.")}
    return found or classify(file, rest)


def parse_properties(file: str, text: str) -> Settings:
    """Return every setting; of two under one name the last one wins, as in Java."""
    found: Settings = {}
    for line, logical_line in logical_lines(text):
        pair = PAIR.match(logical_line)
        assert pair
        name, value = (unescape(file, line, part) for part in pair.groups())
        found[name] = Setting(value, line)
    return found


def logical_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines without comments; lines that end in a backslash are joined with the next."""
    found = []
    begun: tuple[int, str] | None = None
    for number, raw in enumerate(LINE_END.split(text), 1):
        line = raw.lstrip(" \t\f")
        is_comment = not line or line[0] in "#!"
        if begun is None and is_comment:
            continue
        start, before = begun or (number, "")
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            begun = (start, before + line[:-1])
        else:
            found.append((start, before + line))
            begun = None
    if begun:
        found.append(begun)
    return found


def unescape(file: str, line: int, text: str) -> str:
    """Return a text without its backslashes."""

    def character(escape: re.Match[str]) -> str:
        name = escape[1]
        if name[0] != "u":
            return ESCAPED.get(name, name)
        if len(name) < 5:
            why = f"\\{name} is no character: \\u takes four hexadecimal digits"
            raise UnreadableError(file, line, why)
        return chr(int(name[1:], 16))

    return ESCAPE.sub(character, text) if "\\" in text else text
