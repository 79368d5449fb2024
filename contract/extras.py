"""Which extras are here, and what each adds: every room reads its section of their manifests."""

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "extras"


def manifests(section: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return this section of every extra.toml that has one, by the name of the extra's folder."""
    found = {}
    for file in sorted(folder.glob("*/extra.toml")):
        manifest = tomllib.loads(file.read_text())
        if section in manifest:
            found[file.parent.name] = manifest[section]
    return found
