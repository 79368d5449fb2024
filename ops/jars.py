"""Java, and jars by Maven, once for each state of a pom: a second start downloads nothing."""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

CLASSES = ".build"  # where Maven leaves what it has compiled, as the poms say

Command = list[str]  # a program and its arguments
Run = Callable[[str, Command], None]  # runs one command to its end under a name, or raises


def java_program(name: str = "java") -> str:
    """Return one of the programs of JAVA_HOME, or else that of the PATH."""
    home = os.environ.get("JAVA_HOME")
    if not home:
        return name
    return str(Path(home, "bin", name))


def jars_folder(cache: Path, pom: Path) -> Path:
    """Return where the jars of this pom belong: for each change of it or its sources another."""
    room = pom.parent.name
    contents = [file.read_bytes() for file in (pom, *sources(pom))]
    digest = hashlib.sha256(b"".join(contents)).hexdigest()[:16]
    return cache / f"{room}-{digest}"


def sources(pom: Path) -> list[Path]:
    """Return the files in Java that Maven makes one more jar of."""
    named = re.search("<sourceDirectory>(.+)</sourceDirectory>", pom.read_text())
    return sorted((pom.parent / named[1]).rglob("*.java")) if named else []


def fetch_jars(run: Run, cache: Path, pom: Path, profiles: dict[str, str]) -> Path:
    """Return the folder of the jars, filled if need be; it is there whole or not at all.

    Each profile of the pom has its own subfolder; without any, the jars are in the folder itself.
    """
    folder = jars_folder(cache, pom)
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        # Two that fetch at once would write to the same files of Maven's own cache.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fill(run, folder, pom, profiles or {"": "."})
    return folder


def fill(run: Run, folder: Path, pom: Path, subfolders: dict[str, str]) -> None:
    """Fetch the jars beside their folder, and name it when they are all there."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unfinished-") as unfinished:
        jars = Path(unfinished, "jars")
        for profile, subfolder in subfolders.items():
            command = copy_command(pom, profile, jars / subfolder)
            run("maven", command)
        shutil.rmtree(jars / CLASSES, ignore_errors=True)
        jars.rename(folder)


def copy_command(pom: Path, profile: str, folder: Path) -> Command:
    """Return how Maven copies the jars of a profile."""
    command = ["mvn", "-B", "-q", "-C", "-f", str(pom)]  # -C: a jar whose sum differs is an error
    if profile:
        command.append(f"-P{profile}")
    if sources(pom):
        command += ["compiler:compile", "jar:jar"]
    command.append("dependency:copy-dependencies")
    command.append(f"-DoutputDirectory={folder}")
    return command
