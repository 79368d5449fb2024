"""Who may write to a lake: of the jobs of one kind, on whatever machines, one holds the lease.

A lease is a numbered file, `lease/JOB/NUMBER`, made as Delta makes a commit: of two jobs that want
one number, one gets it. Its holder writes to the file beside it, over and over. If that stops for
LEASE_SECONDS, the next job that wants the lease takes the next number and deletes the file: from
then on every commit of the one before is refused (java/lake/Lease.java).
"""

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark.session import locate, log_progress, read_lines

LEASE_SECONDS = 15.0  # above the longest pause of a JVM that is at work
BEAT_SECONDS = 2.0  # so long a second job waits until it knows that the first one is at work
POLL_SECONDS = 0.2
OVER = "over"  # the last beat of a holder that gives its lease back


class Lease:
    """A lease that this process holds, unless another has taken it over."""

    def __init__(
        self, spark: SparkSession, folder: str, number: int, *, is_taken_over: bool
    ) -> None:
        """Remember which one it is, and whether its last holder did not give it back."""
        self.spark = spark
        self.number = number
        self.address = f"{folder}/{number}"
        self.is_taken_over = is_taken_over
        self.is_lost = False

    def beat(self, text: str) -> None:
        """Show that the holder is at work, or find out that it is the holder no more."""
        files, path = locate(self.spark, self.address)
        if not files.exists(path):
            self.is_lost = True
            return
        _, beat = locate(self.spark, f"{self.address}.beat")
        with closing(files.create(beat, True)) as stream:
            stream.write(bytearray(text.encode()))


@contextmanager
def hold_lease(spark: SparkSession, delta_root: str, job: str) -> Iterator[Lease]:
    """Hold the lease of a job on this lake, or raise BlockingIOError."""
    with hold_file(delta_root, job) as has_lock:
        lease = claim(spark, f"{delta_root}/lease/{job}", has_lock=has_lock)
        jvm: Any = spark.sparkContext._jvm
        jvm.lake.Lease.hold(lease.address)
        try:
            with beating(lease):
                yield lease
        finally:
            with suppress(Py4JError):  # the JVM is gone: who comes next finds out by itself
                jvm.lake.Lease.release(lease.address)
                lease.beat(OVER)


@contextmanager
def hold_file(delta_root: str, job: str) -> Iterator[bool]:
    """Lock a file of the lake's folder; yield whether that worked.

    The kernel lets it go when its holder dies, whatever it dies of: nobody need wait then. A bucket
    has no such files.
    """
    folder = local_folder(delta_root)
    if folder is None:
        yield False
        return
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{job}.lock"
    file.touch()
    with file.open() as lock:  # to read: a file that is open to be written keeps its disk busy
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def local_folder(delta_root: str) -> Path | None:
    """Return the folder of a lake, if it is one of this machine's."""
    scheme, separator, place = delta_root.partition(":")
    if scheme == "file" and separator:
        path = place.removeprefix("//")
        return Path(path)
    is_elsewhere = "://" in delta_root
    return None if is_elsewhere else Path(delta_root)


def claim(spark: SparkSession, folder: str, *, has_lock: bool) -> Lease:
    """Take the next number, if the holder of the last one has given it back or is not at work."""
    last = last_number(spark, folder)
    was_given_back = not last or last_beat(spark, f"{folder}/{last}") == OVER
    is_dead = has_lock and not was_given_back and had_lock(spark, f"{folder}/{last}")
    may_be_at_work = not was_given_back and not is_dead
    if may_be_at_work and is_at_work(lambda: last_beat(spark, f"{folder}/{last}")):
        raise BlockingIOError(f"{folder} is held")
    lease = Lease(spark, folder, last + 1, is_taken_over=not was_given_back)
    write_once(spark, lease.address, describe_holder(has_lock=has_lock))
    delete_earlier(spark, folder, last)
    if not was_given_back:
        log_progress(f"took over {folder}: its holder did not give it back")
    return lease


def last_number(spark: SparkSession, folder: str) -> int:
    """Return the number of the newest lease; 0 if there has been none."""
    return max((int(name) for name in list_names(spark, folder) if name.isdigit()), default=0)


def list_names(spark: SparkSession, folder: str) -> list[str]:
    """Return the names of the files in a folder."""
    files, path = locate(spark, folder)
    if not files.exists(path):
        return []
    return [status.getPath().getName() for status in files.listStatus(path)]


def last_beat(spark: SparkSession, address: str) -> str:
    """Return what the holder of a lease wrote last."""
    files, path = locate(spark, f"{address}.beat")
    try:
        return "".join(read_lines(spark, files, path))
    except Py4JJavaError:  # it has not written yet, or the lease is gone
        return ""


def is_at_work(read_beat: Callable[[], str]) -> bool:
    """Watch the holder of a lease for as long as one lasts; return whether it wrote meanwhile.

    What it wrote is compared with nothing but itself: its clock may be another one.
    """
    deadline = time.monotonic() + LEASE_SECONDS
    first = read_beat()
    while time.monotonic() < deadline:
        beat = read_beat()
        if beat != first:
            return beat != OVER
        time.sleep(POLL_SECONDS)
    return False


def describe_holder(*, has_lock: bool) -> str:
    """Return what a lease says of its holder: where it is, and whether it had the file's lock."""
    return json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "has_lock": has_lock})


def had_lock(spark: SparkSession, address: str) -> bool:
    """Return whether the lock told the kernel when the holder of this lease died.

    One that took over from a process that stood still has none: that process still had it.
    """
    files, path = locate(spark, address)
    try:
        holder = json.loads("".join(read_lines(spark, files, path)))
    except (Py4JJavaError, ValueError):  # it was given back meanwhile, or taken over
        return False
    return bool(holder["has_lock"])


def write_once(spark: SparkSession, address: str, line: str) -> None:
    """Make a file as Delta makes a commit; raise BlockingIOError if another was faster."""
    jvm: Any = spark.sparkContext._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    files, path = locate(spark, address)
    files.mkdirs(path.getParent())
    store = jvm.org.apache.spark.sql.delta.storage.LogStore.apply(spark._jsparkSession)
    lines = jvm.scala.collection.Iterator.single(line)
    try:
        store.write(files.makeQualified(path), lines, False, settings)
    except Py4JJavaError as error:
        if "FileAlreadyExistsException" not in str(error.java_exception.toString()):
            raise
        raise BlockingIOError(f"{address} is taken") from None


def delete_earlier(spark: SparkSession, folder: str, last: int) -> None:
    """Delete the leases up to this number: whoever holds one of them has lost it now."""
    files, _ = locate(spark, folder)
    for name in list_names(spark, folder):
        number, _, _ = name.partition(".")
        if number.isdigit() and int(number) <= last:
            _, path = locate(spark, f"{folder}/{name}")
            files.delete(path, False)


@contextmanager
def beating(lease: Lease) -> Iterator[None]:
    """Show that the holder is at work until the block ends, from a thread of its own."""
    is_over = threading.Event()

    def keep_beating() -> None:
        beats = 0
        while not lease.is_lost:
            with suppress(Py4JError):  # such as a store that does not answer: try again
                lease.beat(str(beats))
            beats += 1
            if is_over.wait(BEAT_SECONDS):
                return

    thread = threading.Thread(target=keep_beating, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
