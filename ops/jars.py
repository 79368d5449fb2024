"""Jars by Maven, once for each state of a pom: a second start downloads nothing."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

Run = Callable[[str, list[str]], None]  # runs one command to its end under a name, or raises


def jars_folder(cache: Path, pom: Path) -> Path:
    """Return where the jars of this pom belong: its hash is in the name, for each change one."""
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()
    return cache / f"{pom.parent.name}-{digest[:16]}"


def fetch_jars(run: Run, cache: Path, pom: Path, profiles: dict[str, str]) -> Path:
    """Return the folder of the jars, filled if need be; it is there whole or not at all.

    Each profile of the pom has its own subfolder; without any, the jars are in the folder itself.
    """
    folder = jars_folder(cache, pom)
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".unfinished-") as unfinished:
        jars = Path(unfinished, "jars")
        for profile, subfolder in (profiles or {"": "."}).items():
            run("maven", copy_command(pom, profile, jars / subfolder))
        try:
            jars.rename(folder)
        except OSError:  # another process was faster with the same pom
            shutil.rmtree(jars)
    return folder


def copy_command(pom: Path, profile: str, folder: Path) -> list[str]:
    """Return how Maven copies the jars of a profile."""
    command = ["mvn", "-B", "-q", "-f", str(pom)]
    if profile:
        command.append(f"-P{profile}")
    return [*command, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
