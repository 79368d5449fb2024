"""Keeps two jobs of one kind from writing to the same lake at once."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def local_folder(delta_root: str) -> Path | None:
    """Return the folder of a lake, if it is one of this machine's."""
    scheme, separator, place = delta_root.partition(":")
    if scheme == "file" and separator:
        path = place.removeprefix("//")
        return Path(path)
    is_elsewhere = "://" in delta_root
    return None if is_elsewhere else Path(delta_root)


@contextmanager
def exclusive_lock(delta_root: str, job: str) -> Iterator[None]:
    """Hold the lock of a job on this lake, or raise BlockingIOError."""
    folder = local_folder(delta_root)
    if folder is None:  # buckets have no locks: what schedules the job must run it only once
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{job}.lock"
    file.touch()
    with file.open() as lock:  # to read: a file that is open to be written keeps its disk busy
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
