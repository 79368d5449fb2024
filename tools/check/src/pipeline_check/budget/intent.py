"""The intent: amounts in one table of a TOML file, each written there or read from where it is really set."""

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pipeline_check.budget.names import KINDS
from pipeline_check.budget.quantity import parse


class IntentError(Exception):
    """An intent that cannot be read: which name, and how to write it."""


def read(file: Path, flags: Sequence[str] = ()) -> dict[str, float]:
    """Every amount by its name; NAME=VALUE flags come last and win."""
    if not (file.exists() or flags):
        raise IntentError(
            f"{file} is not there: name a file with [tool.pipeline.budget], or NAME=VALUE"
        )
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise IntentError(f"{file}: {error}") from error
    table = (
        document.get("tool", {}).get("pipeline", {}).get("budget") or document.get("budget") or {}
    )
    written = {name: str(value) for name, value in table.items()} | split(flags)
    if unknown := sorted(written.keys() - KINDS.keys()):
        raise IntentError(
            f"{file}: [budget] knows no {unknown[0]}; it knows {', '.join(sorted(KINDS))}"
        )
    return {name: amount(file, name, text) for name, text in written.items()}


def split(flags: Sequence[str]) -> dict[str, str]:
    """The flags by name."""
    pairs = [flag.partition("=") for flag in flags]
    if wrong := next((name for name, sign, _ in pairs if not sign), None):
        raise IntentError(f"{wrong}: write NAME=VALUE, such as stop_grace=20s")
    return {name: text for name, _, text in pairs}


def amount(file: Path, name: str, text: str) -> float:
    """One amount; FILE#KEY, relative to the intent, is where it is set."""
    place, sign, key = text.partition("#")
    kind, bare = KINDS[name], {"time": "s", "size": "B", "rate": "B/s", "count": ""}[KINDS[name]]
    try:
        if sign:
            text = look_up(file.parent / place, key)
            bare = "ms" if key.lower().endswith(("_ms", ".ms")) else bare
        return parse(text, kind, bare)
    except (OSError, LookupError, ValueError, SyntaxError) as error:
        raise IntentError(f"{file}: [budget] {name}: {error}") from error


def look_up(file: Path, key: str) -> str:
    """What a file sets: a Python name, a path of JSON names (with /), or a line KEY = VALUE."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        found = [str(value) for name, value in assigned(text) if name == key]
    elif file.suffix == ".json":
        found = [str(walk(json.loads(text), key.split("/")))]
    else:
        found = re.findall(
            rf"^\s*{re.escape(key)}\s*[=:]\s*([^#\n]*?)\s*(?:#.*)?$", text, re.MULTILINE
        )
    if not found:
        raise LookupError(f"{file} sets no {key}")
    return found[-1]


def assigned(text: str) -> Iterable[tuple[str, Any]]:
    """Every name in a Python source that is given a plain number or text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                (target.id, node.value.value) for target in targets if isinstance(target, ast.Name)
            )


def walk(document: Any, path: list[str]) -> Any:
    """What stands at the end of a path of names."""
    for step in path:
        document = document[step]
    return document
