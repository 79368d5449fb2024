"""Versions of Python's clients in requirements, pyproject and lock files."""

import json
import re
from collections.abc import Iterator

from pipeline_check.reading.said import NUMBER, Said, Version, line_at, parse

# One requirement, wherever it is written on a line: requirements, pyproject, Pipfile, setup.
REQUIREMENT = re.compile(
    r"""(?<![\w.-])(?P<name>kafka-python|aiokafka|confluent[-_]kafka)['"]?(?:\[[^\]]*\])?"""
    r"""\s*(?:=\s*)?['"]?(?P<ranges>[\^~=<>!][^'"#;\\]*)""",
    re.IGNORECASE,
)
# A fork, whose own numbers go on without what came later: whichever is installed, it is old.
FORK = re.compile(r"(?<![\w.-])kafka-python-ng(?![\w-])", re.IGNORECASE)
FORKED_FROM: Version = (2, 0, 2)
LOCKED = re.compile(r'name = "(kafka-python|aiokafka|confluent-kafka)"\r?\nversion = "([\d.]+)')
CLIENTS = {"confluent-kafka": "librdkafka"}  # which has the version of what is inside


def read_requirements(text: str) -> Iterator[Said]:
    """Yield each requirement that leaves one version, or one line of versions."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        if FORK.search(line.partition("#")[0]):
            yield Said("kafka-python", FORKED_FROM, number)
        for match in REQUIREMENT.finditer(line):
            name = match["name"].lower().replace("_", "-")
            version = lowest_of(match["ranges"])
            if version:
                yield Said(CLIENTS.get(name, name), version, number)


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
        client = CLIENTS.get(match[1], match[1])
        yield Said(client, parse(match[2]), line_at(text, match.start()))


def read_pipfile_lock(text: str) -> Iterator[Said]:
    """Yield what a lock of Pipenv has chosen."""
    chosen = json.loads(text).get("default", {})
    for name in ("kafka-python", "aiokafka", "confluent-kafka"):
        number = NUMBER.search(str(chosen.get(name, {}).get("version", "")))
        if number:
            line = line_at(text, text.index(f'"{name}"'))
            yield Said(CLIENTS.get(name, name), parse(number[0]), line)
