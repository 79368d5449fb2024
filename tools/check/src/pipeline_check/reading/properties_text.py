"""Java's .properties: what `java.util.Properties` makes of it, with the line of each key."""

import re

from pipeline_check.reading.block import Setting
from pipeline_check.reading.unreadable import UnreadableError

ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,4}|.)", re.DOTALL)
NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def parse_properties(file: str, text: str) -> dict[str, Setting]:
    """Every setting; of two under one name the last one wins, as in Java."""
    found: dict[str, Setting] = {}
    for line, logical in logical_lines(text):
        pair = PAIR.match(logical)
        assert pair
        found[unescape(file, line, pair[1])] = Setting(unescape(file, line, pair[2]), line)
    return found


def logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines without comments, those that end in a backslash joined with what follows."""
    found, begun = [], None
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.lstrip(" \t\f")
        if begun is None and (not line or line[0] in "#!"):
            continue
        start, before = begun or (number, "")
        if (len(line) - len(line.rstrip("\\"))) % 2:
            begun = (start, before + line[:-1])
        else:
            found.append((start, before + line))
            begun = None
    return [*found, begun] if begun else found


def unescape(file: str, line: int, text: str) -> str:
    """The text without its backslashes."""

    def one(escape: re.Match[str]) -> str:
        name = escape[1]
        if name[0] != "u":
            return NAMED.get(name, name)
        if len(name) < 5:
            raise UnreadableError(
                file, line, f"\\{name} is no character: \\u takes four hexadecimal digits"
            )
        return chr(int(name[1:], 16))

    return ESCAPE.sub(one, text) if "\\" in text else text
