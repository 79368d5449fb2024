"""Values as Java's ConfigDef reads them: trimmed, strictly typed, within their bounds, unknown names ignored."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import Key, keys

Values = dict[str, Any]
BITS = {"short": 16, "int": 32, "long": 64}
BEFORE = {  # defaults that were others once: until which version, and what
    "enable.idempotence": ((3,), False),
    "acks": ((3,), "1"),
    "linger.ms": ((4,), 0),
}


def parse(
    settings: Mapping[str, str], version: tuple[int, ...]
) -> tuple[Outcome, Values, set[str]]:
    """Every value with the defaults of this version, and which of them were asked for."""
    outcome, table = Outcome(), keys("java")
    values = defaults() | {
        name: value for name, (until, value) in BEFORE.items() if version < until
    }
    asked = set()
    for name, text in settings.items():
        key = table.get(name)
        if not key or not exists(key, version):
            outcome.unknown.append(name)
            continue
        try:
            values[name] = read(key, text)
            asked.add(name)
        except ValueError as wrong:
            outcome.refuse(str(wrong), name)
    values["acks"] = "all" if values["acks"] == "-1" else values["acks"]
    return outcome, values, asked


@cache
def defaults() -> Values:
    """The defaults of the newest version."""
    return {key.name: read(key, key.default) for key in keys("java").values() if key.default}


def exists(key: Key, version: tuple[int, ...]) -> bool:
    """Whether this version has the setting."""
    until = tuple(map(int, key.extra.split("."))) if key.extra else (99,)
    return tuple(map(int, key.scope.split("."))) <= version or (
        key.scope == "2.8" and version[:2] <= until
    )


def read(key: Key, text: str) -> object:
    """The value; ValueError with a sentence for what is refused."""
    trimmed = text.strip()
    if key.type == "boolean":
        if trimmed.lower() not in ("true", "false"):
            raise ValueError(f"{key.name}={text!r} is not true or false")
        return trimmed.lower() == "true"
    if key.type in BITS or key.type == "double":
        number = read_number(key, trimmed)
        if wrong := key.outside(number):
            raise ValueError(wrong)
        return number
    words = key.values()
    anycase = key.allowed.startswith("(case")
    if words and (trimmed.upper() if anycase else trimmed) not in words:
        raise ValueError(f"{key.name}={text!r} is not {' or '.join(words)}")
    if key.name == "transactional.id" and not trimmed:
        raise ValueError("transactional.id is empty")
    return trimmed


def read_number(key: Key, text: str) -> float:
    """The number; Java takes a sign and digits, nothing else, and as many as its type can hold."""
    if key.type == "double":
        return float(text)
    bits = BITS[key.type]
    if not re.fullmatch(r"[+-]?\d+", text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise ValueError(f"{key.name}={text!r} is not a number of {bits} bits")
    return int(text)


def told(value: object) -> str:
    """The value as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
