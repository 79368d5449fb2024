"""A small disk of its own for a folder of the stack, so that it can be full."""

import errno
import shutil
import subprocess
import time
from pathlib import Path

from ops.stack.supervisor import StackError

BALLAST = "ballast"
BUSY_SECONDS = 30  # far above the longest write of a file
PIECE = b"\0" * 1024 * 1024


class Disk:
    """A folder on a file system in memory; only root may have one."""

    def __init__(self, folder: Path, mebibytes: int) -> None:
        self.folder = folder
        self.size = f"size={mebibytes}m"

    def mount(self) -> None:
        """Put the folder on it, with what is in the folder; do nothing if it is there already."""
        if self.folder.is_mount():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder.with_name(f"{self.folder.name}.aside")
        shutil.rmtree(aside, ignore_errors=True)
        self.folder.rename(aside)
        self.folder.mkdir(mode=0o700)
        run("mount", "-t", "tmpfs", "-o", f"{self.size},mode=700", "tmpfs", str(self.folder))
        shutil.copytree(aside, self.folder, dirs_exist_ok=True, symlinks=True)
        shutil.rmtree(aside)

    def unmount(self) -> None:
        """Give it up, with all that is on it."""
        if self.folder.is_mount():
            run("umount", "--lazy", str(self.folder))

    def fill(self) -> None:
        """Leave no room for another byte, whatever the part writes meanwhile."""
        with (self.folder / BALLAST).open("wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(PIECE)
            except OSError as refusal:
                if refusal.errno != errno.ENOSPC:
                    raise

    def make_room(self) -> None:
        """Take the ballast away."""
        (self.folder / BALLAST).unlink(missing_ok=True)

    def refuse_writes(self, *, refuse: bool) -> None:
        """Make it read-only, or writable again.

        The kernel says that it is busy while a file is open to be written.
        """
        mode = "ro" if refuse else "rw"
        command = ("mount", "-o", f"remount,{mode},{self.size}", str(self.folder))
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                run(*command)
                return
            except StackError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)


def run(*command: str) -> None:
    """Run a command that must work."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise StackError(f"{' '.join(command)}: {done.stderr.strip()}")
