"""The intent: amounts in one table of a TOML file, or references to where they are really set."""

import ast
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline_check.budget.amounts import KINDS, parse_amount

BARE_UNITS = {"time": "s", "size": "B", "rate": "B/s", "count": ""}


class IntentError(Exception):
    """An intent that cannot be read: which name, and how to write it."""


def read_intent(file: Path, flags: Sequence[str] = ()) -> dict[str, float]:
    """Return every amount by its name; NAME=VALUE flags come last and win."""
    if not file.exists() and not flags:
        way_out = "name a file with [tool.pipeline.budget], or NAME=VALUE"
        raise IntentError(f"{file} is not there: {way_out}")
    written = read_table(file) | parse_flags(flags)
    unknown = sorted(written.keys() - KINDS.keys())
    if unknown:
        known = ", ".join(sorted(KINDS))
        raise IntentError(f"{file}: [budget] knows no {unknown[0]}; it knows {known}")
    return {name: read_amount(file, name, text) for name, text in written.items()}


def read_table(file: Path) -> dict[str, str]:
    """Return what a file says under [tool.pipeline.budget], or under [budget]."""
    if not file.exists():
        return {}
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise IntentError(f"{file}: {error}") from error
    of_pipeline = document.get("tool", {}).get("pipeline", {})
    table = of_pipeline.get("budget") or document.get("budget") or {}
    return {name: str(value) for name, value in table.items()}


def parse_flags(flags: Sequence[str]) -> dict[str, str]:
    """Return the flags by name."""
    found = {}
    for flag in flags:
        name, sign, text = flag.partition("=")
        if not sign:
            raise IntentError(f"{name}: write NAME=VALUE, such as stop_grace=20s")
        found[name] = text
    return found


def read_amount(file: Path, name: str, text: str) -> float:
    """Return one amount; FILE#KEY, relative to the intent, is the place where it is set."""
    kind = KINDS[name]
    bare_unit = BARE_UNITS[kind]
    place, sign, key = text.partition("#")
    try:
        if sign:
            text = look_up(file.parent / place, key)
            if key.lower().endswith(("_ms", ".ms")):
                bare_unit = "ms"
        return parse_amount(text, kind, bare_unit)
    except (OSError, LookupError, ValueError, SyntaxError) as error:
        raise IntentError(f"{file}: [budget] {name}: {error}") from error


def look_up(file: Path, key: str) -> str:
    """Return what a file sets: a Python name, a path of JSON names (with /), or KEY = VALUE."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        return look_up_path(json.loads(text), key.split("/"))
    if file.suffix == ".py":
        found = assigned_values(text, key)
    else:
        line = rf"^\s*{re.escape(key)}\s*[=:]\s*([^#\n]*?)\s*(?:#.*)?$"
        found = re.findall(line, text, re.MULTILINE)
    if not found:
        raise LookupError(f"{file} sets no {key}")
    return found[-1]


def look_up_path(document: Any, path: list[str]) -> str:
    """Return the value at the end of a path of names."""
    for step in path:
        document = document[step]
    return str(document)


def assigned_values(text: str, name: str) -> list[str]:
    """Return the plain numbers and texts that a Python source gives to a name."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if name in names and isinstance(node.value, ast.Constant):
            found.append(str(node.value.value))
    return found
