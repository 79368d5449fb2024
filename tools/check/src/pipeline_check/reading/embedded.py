"""Connectors inside other files: JSON that a shell script posts, and Terraform's blocks."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pipeline_check.reading.block import Block, Setting, Settings
from pipeline_check.reading.json_file import read_json
from pipeline_check.reading.placeholder import connect_setting
from pipeline_check.reading.unreadable import UnreadableError

CLASS = "connector.class"
# "'"$X"'" inside a quoted body, as shells need it.
CLOSED_QUOTE = re.compile(r"'\"?(\$\{?\w+\}?)\"?'")
BARE_VARIABLE = re.compile(r"(:\s*)(\$\{?\w+\}?)(?=\s*[,}\n])")
HCL_ENTRY = re.compile(
    r"""^[ \t]*"?(?P<name>[\w.]+)"?[ \t]*[=:][ \t]*(?P<value>"(?:[^"\\]|\\.)*"|[^\s{\[]\S*)""",
    re.MULTILINE,
)


def read_shell(file: str, text: str) -> list[Block]:
    """Return the connectors in the bodies that a script posts; other text is none of ours."""
    found = []
    for start, body in bodies(text):
        filled = BARE_VARIABLE.sub(r'\1"\2"', CLOSED_QUOTE.sub(r"\1", body.replace('\\"', '"')))
        lines = text.count("\n", 0, start)
        try:
            found += [block.moved_down(lines) for block in read_json(file, filled)]
        except UnreadableError:
            why = "a connector that the script puts together"
            found.append(Block(file, lines + 1, "unjudged", why))
    return found


def read_terraform(file: str, text: str) -> list[Block]:
    """Return the connectors in Terraform's maps of settings."""
    found = []
    for start, body in bodies(text):
        lines = text.count("\n", 0, start)
        settings: Settings = {}
        for entry in HCL_ENTRY.finditer(body):
            line = lines + body.count("\n", 0, entry.start("name")) + 1
            settings[entry["name"]] = hcl_setting(entry["value"], line)
        if CLASS in settings:
            first = min(each.line for each in settings.values())
            name = settings["name"].text if "name" in settings else ""
            found.append(Block(file, first, "connector", "connect", name, settings))
    return found


def hcl_setting(value: str, line: int) -> Setting:
    """Return a literal, or an expression that only Terraform can work out."""
    text = value.strip('"').replace('\\"', '"').replace("$${", "${")
    setting = connect_setting(text, line)
    is_expression = not value.startswith('"') and not re.fullmatch(r"[\d.]+|true|false", value)
    if is_expression or ("${" in value and "$${" not in value):
        return replace(setting, known=False, source=f"Terraform's {text}")
    return setting


def bodies(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the text of each outermost pair of braces around a connector's class."""
    done = 0
    for match in re.finditer(re.escape(CLASS), text):
        if match.start() < done:
            continue
        start = opening(text, match.start(), done)
        end = closing(text, start) if start is not None else None
        if start is None or end is None:
            continue
        done = end
        yield start, text[start:end]


def opening(text: str, at: int, least: int) -> int | None:
    """Return the brace that opens the object around a place; the one around that, if it is JSON."""
    found = None
    depth = 0
    for place in range(at - 1, least - 1, -1):
        if text[place] == "}":
            depth += 1
        elif text[place] == "{" and text[place - 1] != "$":
            if depth:
                depth -= 1
                continue
            found = place
            before = text[:place].rstrip()
            if not before.endswith(":"):  # not the value of a name: the outermost one
                return found
    return found


def closing(text: str, start: int) -> int | None:
    """Return the place behind the brace that closes one."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if not depth:
                return place + 1
    return None
