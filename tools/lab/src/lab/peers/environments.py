"""The environments of the peers: made once each below .run/peers, from a list with hashes."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ops.stack.files import is_whole

Version = tuple[int, int]

PROGRAMS = ("python3.12", "python3.13", "python3.14")
SHOW_VERSION = "import sys; print(*sys.version_info[:2])"


class LeftOutError(Exception):
    """Why a peer cannot be set up here, and the way out."""


def make_environment(cache: Path, requirements: Path, least: Version) -> Path:
    """Return the Python of the environment that has these packages; it is whole or not there."""
    python = find_python(least)
    content = requirements.read_bytes() + python.encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    folder = cache / f"{requirements.parent.name}-{digest}"
    with is_whole(folder) as unfinished:
        if unfinished:
            run([python, "-m", "venv", str(unfinished)])
            pip = [str(unfinished / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            # The list is complete: whoever made it has resolved it.
            run([*pip, "--no-deps", "--require-hashes", "--requirement", str(requirements)])
    return folder / "bin" / "python"


def find_python(least: Version) -> str:
    """Return a Python of this version or later: our own, or one of the PATH."""
    for program in (sys.executable, *PROGRAMS):
        path = shutil.which(program)
        if path and version_of(path) >= least:
            return path
    wanted = ".".join(map(str, least))
    raise LeftOutError(
        f"it needs Python {wanted} or later, and there is none on the PATH: install one"
    )


def version_of(program: str) -> Version:
    """Return the version of this Python; one that does not start has none."""
    shown = subprocess.run(
        [program, "-c", SHOW_VERSION],
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        return 0, 0
    major, minor = map(int, shown.stdout.split())
    return major, minor


def run(command: Sequence[str]) -> None:
    """Run one step to its end, or say with its last line why the peer is left out."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise LeftOutError(f"its packages cannot be installed: {said[-1]}")
