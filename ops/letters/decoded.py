"""A dead letter's value as far as it can be read, with a mark where it is wrong.

Whoever sends records may have put anything into them: what a terminal would obey, or what would
turn a line around, is shown by its number.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

PLACE = re.compile(r"at byte (?P<byte>\d+)|\(char (?P<char>\d+)\)")
WIDTH = 100
MOST_LINES = 60
HERE = "  ← here"

Line = tuple[str, str]  # the name of a field, and its line


def visible(text: str) -> str:
    """Return a text in which every character can be seen."""
    return "".join(char if char.isprintable() else escape(char) for char in text)


def escape(char: str) -> str:
    """Return the number that stands for a character which cannot be seen."""
    return char.encode("unicode_escape", "surrogatepass").decode()


def decode(value: bytes, field: str, reason: str) -> Iterator[str]:
    """Yield the lines of a value: as JSON if it is some, with a mark at the field that is wrong."""
    text = value.decode("utf-8", "backslashreplace")
    found = PLACE.search(reason)
    lines = None if found else lines_of_object(text)
    if lines is not None:
        yield from mark_field(lines, field)
    elif found and found["byte"]:
        before = value[: int(found["byte"])].decode("utf-8", "backslashreplace")
        yield from mark_place(text, len(before))
    elif found:
        yield from mark_place(text, int(found["char"]))
    else:
        yield from cut(visible(text))


def lines_of_object(text: str) -> list[Line] | None:
    """Return the lines of a JSON object; None for what is none, or is nested too deep to show.

    A key that is given twice shows once.
    """
    try:
        document = json.loads(text)
        return list(json_lines(document)) if isinstance(document, dict) else None
    except (ValueError, RecursionError):
        return None


def json_lines(
    document: Any, name: str = "", label: str = "", margin: str = "", end: str = ""
) -> Iterator[Line]:
    """Yield JSON line by line, each with the name of the field that it shows."""
    if document and isinstance(document, dict):
        yield name, f"{margin}{label}{{"
        inner = [(f"{name}.{key}".lstrip("."), f"{quote(key)}: ") for key in document]
        yield from lines_within(document.values(), inner, margin)
        yield "", f"{margin}}}{end}"
    elif document and isinstance(document, list):
        yield name, f"{margin}{label}["
        inner = [(f"{name}[{number}]", "") for number in range(len(document))]
        yield from lines_within(document, inner, margin)
        yield "", f"{margin}]{end}"
    else:
        yield name, f"{margin}{label}{quote(document)}{end}"


def lines_within(values: Iterable[Any], names: Sequence[Line], margin: str) -> Iterator[Line]:
    """Yield the lines of what is in an object or a list, given with names and labels."""
    last = len(names) - 1
    for number, value in enumerate(values):
        name, label = names[number]
        comma = "," if number < last else ""
        yield from json_lines(value, name, label, f"{margin}  ", comma)


def quote(document: Any) -> str:
    """Return JSON in which every character can be seen."""
    return visible(json.dumps(document, ensure_ascii=False))


def mark_field(lines: list[Line], field: str) -> Iterator[str]:
    """Yield the lines, with a mark at this field, or a line that says that it is not there."""
    marked = [number for number, (name, _) in enumerate(lines) if field and name == field]
    first = max(0, marked[0] - MOST_LINES // 2) if marked else 0
    last = first + MOST_LINES
    if first:
        yield f"… {first} lines before"
    for number, (_, line) in enumerate(lines[first:last], first):
        is_too_long = len(line) > WIDTH
        shown = f"{line[:WIDTH]}…" if is_too_long else line
        is_marked = number in marked[:1]
        yield f"{shown}{HERE}" if is_marked else shown
    left_out = len(lines) - last
    if left_out > 0:
        yield f"… {left_out} lines more"


def mark_place(text: str, at: int) -> Iterator[str]:
    """Yield the text around a place, and a mark below it."""
    first = max(0, at - WIDTH // 2)
    last = at + WIDTH // 2
    before = visible(text[first:at])
    behind = visible(text[at:last])
    lead = "…" if first > 0 else ""
    rest = "…" if last < len(text) else ""
    yield f"{lead}{before}{behind}{rest}"
    yield " " * len(lead + before) + "↑ here"


def cut(text: str) -> Iterator[str]:
    """Yield a text in lines of the usual width."""
    shown = text[: WIDTH * MOST_LINES]
    for start in range(0, len(shown), WIDTH):
        yield shown[start : start + WIDTH]
    left_out = len(text) - len(shown)
    if left_out:
        yield f"… {left_out:,} characters more"
