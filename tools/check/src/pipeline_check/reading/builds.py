"""Which version of a client a project installs: what the nearest build file upwards says."""

import codecs
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
    read_sbt,
)
from pipeline_check.reading.other_builds import (
    read_go_mod,
    read_package,
    read_package_lock,
    read_yarn_lock,
)
from pipeline_check.reading.python_builds import (
    read_lock,
    read_pipfile_lock,
    read_requirements,
)
from pipeline_check.reading.roots import up_to_the_root
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
    "build.sbt": read_sbt,
    "gradle/libs.versions.toml": read_catalog,
    "gradle.properties": read_gradle_properties,
    "package-lock.json": read_package_lock,
    "yarn.lock": read_yarn_lock,
    "package.json": read_package,
    "go.mod": read_go_mod,
}
# librdkafka comes with packages of three languages: a source is built by those of its own.
OF_PYTHON = frozenset(
    name
    for name, read in READERS.items()
    if read in (read_lock, read_pipfile_lock, read_requirements)
)
BUILT_BY = {
    ".py": OF_PYTHON,
    ".go": frozenset({"go.mod"}),
} | dict.fromkeys(
    (".js", ".mjs", ".cjs", ".ts"),
    frozenset({"package-lock.json", "yarn.lock", "package.json"}),
)


class Build(NamedTuple):
    """A version of a client, and where it is asked for."""

    client: str
    version: Version
    place: str  # file and line
    pattern: str = ""  # of the build file's name


def version_near(file: str, client: str) -> Build | None:
    """Return what the nearest build file in the folders above a file says of a client."""
    path = Path(file).absolute()
    own = BUILT_BY.get(path.suffix, READERS.keys())
    for place in up_to_the_root(path.parent):
        for build in builds_in(place):
            if build.client == client and build.pattern in own:
                return build
    return None


@cache
def builds_in(folder: Path) -> tuple[Build, ...]:
    """Return what the build files of one folder say; a lock before what was asked for."""
    found = []
    for pattern, read in READERS.items():
        for file in sorted(folder.glob(pattern)):
            found += [
                Build(one.client, one.version, f"{shown(file)}:{one.line}", pattern)
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
        return list(read(decoded(file.read_bytes())))
    except (OSError, ValueError, AttributeError, ET.ParseError, RecursionError):
        return []


def decoded(raw: bytes) -> str:
    """Return a text, also as PowerShell writes it when `pip freeze` goes to a file: in UTF-16."""
    is_wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return raw.decode("utf-16" if is_wide else "utf-8-sig", errors="replace")
