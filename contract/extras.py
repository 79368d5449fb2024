"""Which extras are here, and what each adds: every room reads its section of their manifests."""

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "extras"


def manifests(section: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return this section of every extra.toml that has one, by the name of the extra's folder."""
    found = {}
    files = folder.glob("*/extra.toml")
    for file in sorted(files):
        extra = file.parent.name
        manifest = tomllib.loads(file.read_text())
        if section in manifest:
            found[extra] = manifest[section]
    return found
