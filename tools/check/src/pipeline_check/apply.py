"""`--fix`: write what can be written safely, and leave the rest to a person.

Only .properties, .env, JSON and YAML, where a setting has a line of its own. A file is changed
whole or not at all: if one edit has no safe place, or does not read as it should afterwards, none
is made.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pipeline_check.apply_yaml import change_yaml, changes_only
from pipeline_check.reading.block import Block
from pipeline_check.reading.read import read_text, reader_of
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.rules.edit import Edit, edits_of
from pipeline_check.rules.finding import Finding, Severity

JSON_LINE = re.compile(r'^(\s*"(?:[^"\\]|\\.)*"\s*:\s*)("(?:[^"\\]|\\.)*"|[^\s,{\[]+)(\s*,?\s*)$')
FLAT_LINE = re.compile(r"^(\s*(?:export\s+)?[^\s=:]+\s*[=:]\s*)(.*?)(\s*)$")

Lines = list[str]


def apply_fixes(findings: Iterable[Finding]) -> dict[str, list[Edit]]:
    """Change every file that can be changed safely; return what was written in which."""
    by_file: dict[str, dict[tuple[int, str], Edit]] = defaultdict(dict)
    for finding in findings:
        if finding.severity > Severity.NOTE:
            for edit in edits_of(finding.fix):
                by_file[edit.file].setdefault((edit.block_line, edit.key), edit)
    changed = {}
    for file, edits in by_file.items():
        wanted = list(edits.values())
        if change_file(Path(file), wanted):
            changed[file] = wanted
    return changed


def change_file(path: Path, edits: Sequence[Edit]) -> bool:
    """Write all edits into a file, or none; return whether they were written."""
    change = WAYS.get(".env" if path.name.startswith(".env") else path.suffix)
    if not change or path.is_symlink():
        return False
    before = path.read_bytes().decode("utf-8", errors="surrogateescape")
    lines = before.splitlines(keepends=True)
    bottom_up = sorted(edits, key=lambda edit: edit.line or edit.last_line, reverse=True)
    if not all(change(lines, edit) for edit in bottom_up):
        return False
    after = "".join(lines)
    if change is change_yaml and not changes_only(before, after, len(edits)):
        return False
    if not reads_as_wanted(path, after, edits):
        return False
    write_whole(path, after)
    return True


def change_flat(lines: Lines, edit: Edit) -> bool:
    """Write a setting into lines of `key=value`."""
    place = (edit.line or edit.last_line) - 1
    if not 0 <= place < len(lines) or lines[place].rstrip("\r\n").endswith("\\"):
        return False
    if not edit.line:
        lines.insert(place + 1, f"{edit.key}={edit.value}{ending(lines, place)}")
        return True
    return replace_value(lines, place, FLAT_LINE, edit.value)


def change_json(lines: Lines, edit: Edit) -> bool:
    """Write a setting into an object that has each of its members on a line."""
    place = (edit.line or edit.last_line) - 1
    if not 0 <= place < len(lines) or not JSON_LINE.match(lines[place]):
        return False
    if not edit.line:
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines.insert(place, f'{indent}"{edit.key}": "{edit.value}",{ending(lines, place)}')
        return True
    return replace_value(lines, place, JSON_LINE, f'"{edit.value}"')


WAYS: dict[str, Callable[[Lines, Edit], bool]] = {
    ".properties": change_flat,
    ".env": change_flat,
    ".json": change_json,
    ".yml": change_yaml,
    ".yaml": change_yaml,
}


def ending(lines: Lines, place: int) -> str:
    """Return how lines end here; a last line without an end gets one."""
    line = lines[place]
    end = line[len(line.rstrip("\r\n")) :]
    if not end:
        lines[place] = f"{line}\n"
    return end or "\n"


def replace_value(lines: Lines, place: int, form: re.Pattern[str], value: str) -> bool:
    """Put another value into a line, and leave everything around it."""
    line = lines[place]
    bare = line.rstrip("\r\n")
    found = form.match(bare)
    if not found:
        return False
    lines[place] = f"{found[1]}{value}{found[3]}{line[len(bare) :]}"
    return True


def reads_as_wanted(path: Path, text: str, edits: Sequence[Edit]) -> bool:
    """Return whether the changed text has every value where it was meant to be."""
    reader = reader_of(path)
    try:
        blocks = read_text(reader, str(path), text) if reader else []
    except UnreadableError:
        return False
    return all(any(has(block, edit) for block in blocks) for edit in edits)


def has(block: Block, edit: Edit) -> bool:
    """Return whether a block has the value of an edit; its worker's settings are elsewhere."""
    setting = block.settings.get(edit.setting.removeprefix("worker:"))
    return setting is not None and setting.text == edit.value


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, with its permissions."""
    beside = path.with_name(f".{path.name}.fixed")
    beside.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    beside.chmod(path.stat().st_mode)
    beside.replace(path)
