"""What an arm takes: memory of its processes, bytes of PostgreSQL's log and of its own disk."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import psutil

from lab.environment import connect_as_admin
from lab.peers.place import read_number

Env = Mapping[str, str]

SECONDS_BETWEEN = 0.2  # of two looks at the memory
MB = 1024 * 1024
LOG = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
DISK = "select pg_database_size(current_database())"


def read_log(env: Env) -> int:
    """Return how many bytes the server has written to its log, for all of its databases."""
    return read_number(env, LOG)


def read_disk(env: Env) -> int:
    """Return how many bytes the database has on its disk, once what was deleted is cleaned up."""
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        admin.execute("vacuum")
    return read_number(env, DISK)


@contextmanager
def watch_memory(processes: Sequence[int]) -> Iterator[list[float]]:
    """Look at these processes and their children again and again; yield the megabytes so far."""
    looks = [look(processes)]
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(SECONDS_BETWEEN):
            looks.append(look(processes))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield looks
    finally:
        is_over.set()
        watching.join()


def look(processes: Sequence[int]) -> float:
    """Return the megabytes that all of them have in memory now."""
    return sum(map(memory_of, processes)) / MB


def memory_of(process: int) -> int:
    """Return the bytes of one process and its children; one that has just ended has none."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process)
        tree = (parent, *parent.children(recursive=True))
        return sum(one.memory_info().rss for one in tree)
    return 0
