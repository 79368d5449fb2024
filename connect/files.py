"""The JSON files of this folder, read strictly: what is wrong in them is said before it is sent."""

import json
from pathlib import Path
from typing import Any

CONNECT = Path(__file__).parent
TOPICS = CONNECT / "topics.json"
ACLS = CONNECT / "acls.json"


class SettingsError(Exception):
    """A file or a setting cannot be used as it is; the text says which, and why."""


def connector_files() -> list[Path]:
    """Return the file of each connector: every JSON file of this folder that is nothing else."""
    files = sorted(CONNECT.glob("*.json"))
    return [file for file in files if file not in (TOPICS, ACLS)]


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a file, in which no key is given twice."""
    name = f"{file.parent.name}/{file.name}"

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = {}
        for key, value in pairs:
            if key in found:
                raise SettingsError(f"{name}: {key} is there twice")
            found[key] = value
        return found

    text = file.read_text()
    try:
        content: dict[str, Any] = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise SettingsError(f"{name} is no JSON: {error}") from None
    return content
