"""The files that are looked at: what was named, and in folders everything but what is made or fetched."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

MADE = {
    "node_modules",
    "build",
    "dist",
    "target",
    "venv",
    "env",
    "__pycache__",
    "site-packages",
    "out",
    "vendor",
}
HIDDEN_BUT_OURS = {".github", ".config", ".devcontainer", ".docker", ".kube"}


class NothingThereError(Exception):
    """A path that was named and is not there."""


def files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file once, in a stable order, and whether it was named itself."""
    seen = set()
    for path in paths:
        if not path.exists():
            raise NothingThereError(f"{path} is not there: name files or folders to look at")
        named = not path.is_dir()
        for file in [path] if named else within(path):
            if file not in seen:
                seen.add(file)
                yield file, named


def within(folder: Path) -> Iterator[Path]:
    """Every regular file below a folder; links are not followed."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if worth_entering(name))
        for name in sorted(names):
            file = Path(root, name)
            if file.is_file() and not file.is_symlink():
                yield file


def worth_entering(name: str) -> bool:
    """Not what tools make for themselves, and no hidden folder that we do not know."""
    hidden = name.startswith(".") and name not in HIDDEN_BUT_OURS
    return not hidden and name not in MADE and not name.endswith(".egg-info")
