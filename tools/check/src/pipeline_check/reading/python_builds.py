"""Versions of Python's clients in requirements, pyproject and lock files."""

import json
import re
from collections.abc import Iterator

from pipeline_check.reading.said import NUMBER, Said, Version, line_at, parse

# One requirement, wherever it is written on a line: requirements, pyproject, Pipfile, setup.
REQUIREMENT = re.compile(
    r"""(?<![\w.-])(?P<name>kafka-python-ng|kafka-python|aiokafka)['"]?(?:\[[^\]]*\])?"""
    r"""\s*(?:=\s*)?['"]?(?P<ranges>[\^~=<>!][^'"#;\\]*)""",
    re.IGNORECASE,
)
FORK = "kafka-python-ng"  # whose own numbers go on, without what came later
FORKED_FROM: Version = (2, 0, 2)
LOCKED = re.compile(r'name = "(kafka-python|aiokafka)"\r?\nversion = "([\d.]+)')


def read_requirements(text: str) -> Iterator[Said]:
    """Yield each requirement that leaves one version, or one line of versions."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for match in REQUIREMENT.finditer(line):
            name = match["name"].lower()
            version = lowest_of(match["ranges"])
            if name == FORK:
                yield Said("kafka-python", FORKED_FROM, number)
            elif version:
                yield Said(name, version, number)


def lowest_of(ranges: str) -> Version | None:
    """Return the version that a requirement names, or the lowest if there is an upper bound."""
    lowest = None
    is_bounded = False
    for part in ranges.split(","):
        sign = re.match(r"\s*([\^~=<>!]*)", part)
        number = NUMBER.search(part)
        if not sign or not number:
            continue
        if sign[1] in ("==", "===", "~=", "^", "~", "="):
            return parse(number[0])
        if sign[1] == ">=":
            lowest = parse(number[0])
        is_bounded = is_bounded or sign[1] in ("<", "<=")
    return lowest if is_bounded else None


def read_lock(text: str) -> Iterator[Said]:
    """Yield what a lock of Poetry, uv or PDM has chosen."""
    for match in LOCKED.finditer(text):
        yield Said(match[1], parse(match[2]), line_at(text, match.start()))


def read_pipfile_lock(text: str) -> Iterator[Said]:
    """Yield what a lock of Pipenv has chosen."""
    chosen = json.loads(text).get("default", {})
    for name in ("kafka-python", "aiokafka"):
        number = NUMBER.search(str(chosen.get(name, {}).get("version", "")))
        if number:
            yield Said(name, parse(number[0]), line_at(text, text.index(f'"{name}"')))
