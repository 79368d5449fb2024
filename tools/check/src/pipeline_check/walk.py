"""The files that are looked at: those that were named, and in folders all but what tools made."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

MADE_BY_TOOLS = {"node_modules", "venv", "__pycache__", "site-packages"}
# Made by tools beside what they build; elsewhere people have folders of these names, too, such as
# the port `out` of a hexagon.
MADE_BESIDE_A_BUILD = {"build", "dist", "target", "env", "out", "vendor"}
BUILDS = {
    ".git",
    "build.gradle",
    "build.gradle.kts",
    "Cargo.toml",
    "composer.json",
    "go.mod",
    "Makefile",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "requirements.txt",
    "setup.py",
    "tsconfig.json",
}
HIDDEN_BUT_READ = {".github", ".config", ".devcontainer", ".docker", ".kube"}


class NothingThereError(Exception):
    """A path that was named does not exist."""


def files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield each file once, in a stable order, and whether it was named itself."""
    seen = set()
    for path in paths:
        if not path.exists():
            raise NothingThereError(f"{path} is not there: name files or folders to look at")
        named = not path.is_dir()
        found = [path] if named else files_below(path)
        for file in found:
            if file not in seen:
                seen.add(file)
                yield file, named


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every regular file below a folder; links are not followed."""
    for root, folders, names in os.walk(folder):
        has_build = not BUILDS.isdisjoint([*names, *folders])
        folders[:] = sorted(name for name in folders if is_worth_entering(name, has_build))
        for name in sorted(names):
            file = Path(root, name)
            if file.is_file() and not file.is_symlink():
                yield file


def is_worth_entering(name: str, has_build: bool) -> bool:
    """Return whether a folder is neither made by tools nor hidden for reasons of its own."""
    hidden = name.startswith(".") and name not in HIDDEN_BUT_READ
    made = name in MADE_BY_TOOLS or name.endswith(".egg-info")
    made = made or (has_build and name in MADE_BESIDE_A_BUILD)
    return not hidden and not made
