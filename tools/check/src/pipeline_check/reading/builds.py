"""Which version of a client a project installs: what the nearest build file upwards says."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from pipeline_check.reading.java_builds import (
    read_catalog,
    read_gradle,
    read_gradle_properties,
    read_pom,
)
from pipeline_check.reading.python_builds import (
    read_lock,
    read_pipfile_lock,
    read_requirements,
)
from pipeline_check.reading.said import Said, Version

LARGEST = 5_000_000  # bytes; a lock of thousands of packages is smaller
READERS: dict[str, Callable[[str], Iterator[Said]]] = {
    "poetry.lock": read_lock,
    "uv.lock": read_lock,
    "pdm.lock": read_lock,
    "Pipfile.lock": read_pipfile_lock,
    "requirements*.lock": read_requirements,
    "requirements*.txt": read_requirements,
    "requirements/*.txt": read_requirements,
    "constraints*.txt": read_requirements,
    "Pipfile": read_requirements,
    "pyproject.toml": read_requirements,
    "setup.cfg": read_requirements,
    "setup.py": read_requirements,
    "pom.xml": read_pom,
    "build.gradle": read_gradle,
    "build.gradle.kts": read_gradle,
    "gradle/libs.versions.toml": read_catalog,
    "gradle.properties": read_gradle_properties,
}


class Build(NamedTuple):
    """A version of a client, and where it is asked for."""

    client: str
    version: Version
    place: str  # file and line


def version_near(file: str, client: str) -> Build | None:
    """Return what the nearest build file in the folders above a file says of a client."""
    folder = Path(file).absolute().parent
    for place in up_to_the_root(folder):
        for build in builds_in(place):
            if build.client == client:
                return build
    return None


def up_to_the_root(folder: Path) -> list[Path]:
    """Return the folders up to that of the repository; without one, up to the working folder."""
    folders = [folder, *folder.parents]
    for count, place in enumerate(folders, 1):
        if (place / ".git").exists():
            return folders[:count]
    here = Path.cwd()
    return [place for place in folders if place.is_relative_to(here)] or [folder]


@cache
def builds_in(folder: Path) -> tuple[Build, ...]:
    """Return what the build files of one folder say; a lock before what was asked for."""
    found = []
    for pattern, read in READERS.items():
        for file in sorted(folder.glob(pattern)):
            found += [
                Build(one.client, one.version, f"{shown(file)}:{one.line}")
                for one in read_build(file, read)
            ]
    return tuple(found)


def shown(file: Path) -> Path:
    """Return a file as people know it from where they are."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def read_build(file: Path, read: Callable[[str], Iterator[Said]]) -> list[Said]:
    """Return what a build file says; nothing, if it is not what its name promises."""
    try:
        if file.is_symlink() or file.stat().st_size > LARGEST:
            return []
        return list(read(file.read_text(encoding="utf-8", errors="replace")))
    except (OSError, ValueError, ET.ParseError, RecursionError):
        return []
