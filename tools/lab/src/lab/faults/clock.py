"""A clock for each part that can be set wrong while it runs; the machine's own stays right."""

import mmap
import shutil
import struct
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

from ops.stack.supervisor import StackError

SHAPE = struct.Struct("=qq")  # the seconds to add, and how often a wrong time was told


def build_library(folder: Path) -> Path:
    """Compile clock.c, unless that was done before."""
    library = folder / "clock.so"
    if library.exists():
        return library
    compiler = shutil.which("cc")
    if compiler is None:
        raise StackError("there is no C compiler on the PATH: install one (apt install gcc)")
    folder.mkdir(parents=True, exist_ok=True)
    with as_file(files("lab.faults") / "clock.c") as source:
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
    return library


class Clock:
    """The clock of one part."""

    def __init__(self, library: Path, file: Path) -> None:
        file.write_bytes(SHAPE.pack(0, 0))
        self.env = {"LD_PRELOAD": str(library), "FAULT_CLOCK": str(file)}
        with file.open("r+b") as opened:
            self.shared = mmap.mmap(opened.fileno(), SHAPE.size)

    def set(self, seconds_wrong: int) -> None:
        """Set it wrong by this much, or right again, and begin to count."""
        self.shared[:] = SHAPE.pack(seconds_wrong, 0)

    @property
    def times_told(self) -> int:
        """Return how often somebody was told a wrong time since it was set."""
        _, told = SHAPE.unpack(self.shared[:])
        return int(told)
