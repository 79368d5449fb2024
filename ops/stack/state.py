"""What was started, kept in a file, and checked before anything is signalled."""

import os
from pathlib import Path
from typing import Self

import psutil
from pydantic import BaseModel

# The start time of a process is reckoned from the clock, which may be set; a pid does not come round
# again within this time.
CLOCK_STEP_SECONDS = 2


class Identity(BaseModel, frozen=True):
    """One process and no other: a pid alone is used again."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Self:
        """Who has this pid now."""
        return cls(pid=pid, started=psutil.Process(pid).create_time())

    def alive(self) -> bool:
        """Whether this very process still runs; one that only waits to be reaped does not."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < CLOCK_STEP_SECONDS
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def group(self) -> list[int]:
        """The pids of its process group that still run, its leader's or those that outlived it."""
        if psutil.pid_exists(self.pid) and not self.alive() and not is_zombie(self.pid):
            return []  # the pid has come round: this group is gone, whoever has it now is none of ours
        return [pid for pid in psutil.pids() if group_of(pid) == self.pid and not is_zombie(pid)]


def group_of(pid: int) -> int | None:
    """The process group, or nothing when the process went away meanwhile."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def is_zombie(pid: int) -> bool:
    """Whether it has ended and only waits to be reaped."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


class State(BaseModel):
    """Every process of the stack, and who will stop it: nobody, when it was started to stay."""

    owner: Identity | None = None
    processes: dict[str, Identity] = {}


def read_state(file: Path) -> State:
    """The state as it was last written; nothing was started where there is no file."""
    return State.model_validate_json(file.read_bytes()) if file.exists() else State()


def write_state(file: Path, state: State) -> None:
    """Written beside its place and then renamed, so that a reader never sees half of it."""
    unfinished = file.with_suffix(".new")
    unfinished.write_text(state.model_dump_json(indent=2) + "\n")
    unfinished.rename(file)
