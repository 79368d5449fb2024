"""compose.yaml and what extras add to it, as one description with every variable at its default."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]

Service = dict[str, Any]
Compose = dict[str, dict[str, Service]]


def compose_files() -> list[Path]:
    """Return compose.yaml, and after it what extras add to it."""
    return [ROOT / "compose.yaml", *sorted(ROOT.glob("extras/*/compose.yaml"))]


def read_compose() -> Compose:
    """Return the whole pipeline with every variable at its default."""
    compose: Compose = {"services": {}}
    for file in compose_files():
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", file.read_text())
        found = yaml.safe_load(text.replace("$$", "$"))
        compose["services"] |= found["services"]
    return compose


def env_examples() -> str:
    """Return what .env.example says, and after it what extras say of their own settings."""
    files = [ROOT / ".env.example", *sorted(ROOT.glob("extras/*/.env.example"))]
    return "".join(file.read_text() for file in files)
