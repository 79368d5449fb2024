"""What was started: kept in a file, and checked before anything is signalled."""

import os
from pathlib import Path
from typing import Self

import psutil
from pydantic import BaseModel

# The start time of a process is computed from the clock, which may be set; a pid is not used again
# within this time.
CLOCK_STEP_SECONDS = 2


class Identity(BaseModel, frozen=True):
    """One process and no other: a pid alone is used again."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return the identity of the process that has this pid now."""
        return cls(pid=pid, started=psutil.Process(pid).create_time())

    def alive(self) -> bool:
        """Say whether this very process still runs; one that only waits to be reaped does not."""
        try:
            process = psutil.Process(self.pid)
            difference = abs(process.create_time() - self.started)
            is_same = difference < CLOCK_STEP_SECONDS
            return is_same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def group(self) -> list[int]:
        """Return the pids of its process group that still run: the leader's, or those after it."""
        pid_exists = psutil.pid_exists(self.pid)
        if pid_exists and not self.alive() and not is_zombie(self.pid):
            return []  # the group is gone; the process that has the pid now is not ours
        pids = psutil.pids()
        members = [pid for pid in pids if group_of(pid) == self.pid]
        return [pid for pid in members if not is_zombie(pid)]


def group_of(pid: int) -> int | None:
    """Return the process group, or None if the process has ended meanwhile."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def is_zombie(pid: int) -> bool:
    """Say whether it has ended and only waits to be reaped."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


class State(BaseModel):
    """Every process of the stack, and the one that will stop it: none if it is to stay."""

    owner: Identity | None = None
    processes: dict[str, Identity] = {}


def read_state(file: Path) -> State:
    """Return the state as it was last written; without a file nothing was started."""
    if not file.exists():
        return State()
    return State.model_validate_json(file.read_bytes())


def write_state(file: Path, state: State) -> None:
    """Write beside the file and rename, so that a reader never sees half of it."""
    unfinished = file.with_suffix(".new")
    unfinished.write_text(state.model_dump_json(indent=2) + "\n")
    unfinished.rename(file)
