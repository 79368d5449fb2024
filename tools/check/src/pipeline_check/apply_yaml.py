"""`--fix` in YAML: one line changes or comes in, and comments, order and layout stay."""

import re
from collections import Counter
from collections.abc import Iterator

from pipeline_check.reading.node import DEPTH, Node
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.reading.yaml_file import parse_yaml
from pipeline_check.rules.edit import Edit

Lines = list[str]

NAME = r"""(?P<quote>["']?)(?P<name>[\w.\-]+)(?P=quote)"""
VALUE = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>{\['"][^#]*?"""
MEMBER = re.compile(rf"(?P<before>\s*{NAME}\s*:[ \t]+)(?P<value>{VALUE})(?P<after>\s*(?:\s#.*)?)")
VARIABLE = re.compile(
    r"""(?P<before>\s*-\s+(?P<quote>["']?)[A-Z0-9_]+=)(?P<value>[^"'#]*?)"""
    r"(?P<after>(?P=quote)\s*(?:\s#.*)?)"
)
PARENT = re.compile(rf"\s*{NAME}\s*:\s*(?:#.*)?")
WORDS = ("true", "false")
MOST = 20_000  # texts in a file, with those that aliases repeat


def change_yaml(lines: Lines, edit: Edit) -> bool:
    """Write a setting that has a line of its own, or that has room behind such a line."""
    place = (edit.line or edit.last_line) - 1
    if not 0 <= place < len(lines) or goes_on(lines, place):
        return False
    bare = lines[place].rstrip("\r\n")
    end = lines[place][len(bare) :] or "\n"
    member, variable = MEMBER.fullmatch(bare), VARIABLE.fullmatch(bare)
    found = member or variable
    if not found:
        return False
    if edit.line:
        value = written(edit.value, found["value"]) if member else edit.value
        lines[place] = f"{found['before']}{value}{found['after']}{lines[place][len(bare) :]}"
        return True
    lines[place] = f"{bare}{end}"
    if member:
        key = edit.key.removeprefix(f"{path_of(lines, place)}.")
        lines.insert(place + 1, f'{indent_of(bare)}{key}: "{edit.value}"{end}')
    else:
        lines.insert(place + 1, f"{indent_of(bare)}- {edit.key}={edit.value}{end}")
    return True


def written(value: str, old: str) -> str:
    """Write a value with the quotes of the old one; a bare word true is not a text everywhere."""
    if old[0] in "\"'":
        return f"{old[0]}{value}{old[0]}"
    return f'"{value}"' if value in WORDS and old not in WORDS else value


def goes_on(lines: Lines, place: int) -> bool:
    """Return whether the value of a line goes on in the lines behind it."""
    not_blank = (line for line in lines[place + 1 :] if line.strip())
    behind = next(not_blank, "")
    is_comment = behind.lstrip().startswith("#")
    own_indent = indent_of(lines[place])
    is_deeper = len(indent_of(behind)) > len(own_indent)
    return is_deeper and not is_comment


def indent_of(line: str) -> str:
    """Return the white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def path_of(lines: Lines, place: int) -> str:
    """Return the dotted name of the mapping that a line stands in."""
    names: list[str] = []
    depth = len(indent_of(lines[place]))
    for line in reversed(lines[:place]):
        if line.startswith("---"):
            break
        parent = PARENT.fullmatch(line.rstrip())
        if parent and len(indent_of(line)) < depth:
            depth = len(indent_of(line))
            names.insert(0, parent["name"])
    return ".".join(names)


def changes_only(before: str, after: str, count: int) -> bool:
    """Return whether this many texts of a file became others or came in, and all else stayed."""
    try:
        old, new = texts(before), texts(after)
    except UnreadableError:
        return False
    is_small = old.total() < MOST and new.total() < MOST
    return is_small and (new - old).total() == count and (old - new).total() <= count


def texts(yaml: str) -> Counter[tuple[str, str]]:
    """Return how often each text stands under which name in all documents of a file."""
    found: Counter[tuple[str, str]] = Counter()
    for number, document in enumerate(parse_yaml("", yaml)):
        for each in leaves(document, str(number)):
            found[each] += 1
            if found.total() >= MOST:
                return found
    return found


def leaves(node: Node, name: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every text with its name."""
    if isinstance(node.value, str):
        yield name, node.value
    elif depth < DEPTH:
        for key, each in node.items():
            yield from leaves(each, f"{name}.{key}", depth + 1)
        for each in node.elements():
            yield from leaves(each, f"{name}[]", depth + 1)
