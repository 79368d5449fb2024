"""The jars of the Java clients and of Connect that the rules are compared with."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

POM = Path(__file__).parent / "clients" / "java" / "pom.xml"
CACHE = Path(__file__).parent.parent / ".jars"


def jars(profile: str) -> Path:
    """Return the folder with the jars of one profile of the pom; a second run downloads nothing.

    The folder is named by the pom's hash. It is filled beside its place and then renamed,
    so it is there whole or not at all.
    """
    version = hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("JARS_DIR", CACHE))
    folder = cache / f"check-{version}" / profile
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".unfinished-") as unfinished:
        copy_dependencies(profile, Path(unfinished, "jars"))
        try:
            Path(unfinished, "jars").rename(folder)
        except OSError:  # another run was faster
            shutil.rmtree(Path(unfinished, "jars"))
    return folder


def copy_dependencies(profile: str, folder: Path) -> None:
    """Let Maven copy the jars of a profile into a folder."""
    command = [
        "mvn",
        "--batch-mode",
        "--quiet",
        f"--file={POM}",
        f"-P{profile}",
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder}",
    ]
    subprocess.run(command, check=True, timeout=600)


def run_java(profile: str, source: Path, lines: list[str]) -> list[str]:
    """Run a Java source on the jars of a profile; return what it prints for these lines."""
    home = os.environ.get("JAVA_HOME")
    command = [
        str(Path(home, "bin", "java")) if home else "java",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{jars(profile)}/*",
        str(source),
    ]
    run = subprocess.run(
        command,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout.splitlines()
