"""The JSON files of this folder, read strictly: what is wrong in them is said before it is sent."""

import json
from pathlib import Path
from typing import Any

CONNECT = Path(__file__).parent
TOPICS = CONNECT / "topics.json"


class SettingsError(Exception):
    """A file or a setting cannot be used as it is; the text says which, and why."""


def connector_files() -> list[Path]:
    """Return the file of each connector: every JSON file of this folder but topics.json."""
    return sorted(file for file in CONNECT.glob("*.json") if file != TOPICS)


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a file, in which no key is given twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise SettingsError(f"{file.parent.name}/{file.name}: {key} is there twice")
        return dict(pairs)

    try:
        found: dict[str, Any] = json.loads(file.read_text(), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise SettingsError(f"{file.parent.name}/{file.name} is no JSON: {error}") from None
    return found
