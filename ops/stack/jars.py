"""Jars by Maven, once for each state of a pom: a second start downloads nothing."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

Run = Callable[
    [str, list[str]], None
]  # runs one command to its end under a name, or says what went wrong


def jars_folder(cache: Path, pom: Path) -> Path:
    """Where the jars of this very pom belong: named by its hash, so a changed pom is a new folder."""
    return cache / f"{pom.parent.name}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:16]}"


def fetch_jars(run: Run, cache: Path, pom: Path, profiles: dict[str, str]) -> Path:
    """The folder, filled if need be: beside its place first and then renamed, so it is there whole or not.

    Each profile of the pom has its own subfolder; without any, the jars lie in the folder itself.
    """
    folder = jars_folder(cache, pom)
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".unfinished-") as unfinished:
        for profile, place in (profiles or {"": "."}).items():
            run("maven", copy_command(pom, profile, Path(unfinished, "jars", place)))
        try:
            Path(unfinished, "jars").rename(folder)
        except OSError:  # somebody else was faster with the same pom
            shutil.rmtree(Path(unfinished, "jars"))
    return folder


def copy_command(pom: Path, profile: str, folder: Path) -> list[str]:
    """Maven, told to copy and to be quiet."""
    only = [f"-P{profile}"] if profile else []
    return [
        "mvn",
        "-B",
        "-q",
        "-f",
        str(pom),
        *only,
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder}",
    ]
