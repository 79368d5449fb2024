"""A fault plan: a file for each fault, named by point and order; gone once it has happened."""

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from signal import SIGKILL, SIGSTOP

# freeze: the service has the order, and its work has not begun. gap: of commit and publish, one is
# done and the other is not. late: the same, later. end: all its work is done.
# An answer is lost by the server before the receiver, an ack by the proxy before the broker.
SIGNALS = {"freeze": SIGSTOP, "gap": SIGKILL, "late": SIGKILL, "end": SIGKILL}
# Postgres refuses a commit, by a plan of its own that says the same.
POST_FIRST = "post-first"
POST_LAST = "post-last"
BEGAN = "began"


class FaultPlan:
    """The faults that have not happened yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, point: str, message_ids: Iterable[str]) -> bool:
        """Return whether a fault is due at this point for one of these; it is never due twice."""
        for message_id in message_ids:
            if self.is_due(point, message_id):
                (self.folder / f"{point}.{message_id}").unlink()
                return True
        return False

    def is_due(self, point: str, message_id: str) -> bool:
        """Return whether this fault has not happened yet."""
        return (self.folder / f"{point}.{message_id}").exists()

    def remove(self, name: str) -> None:
        """Take a fault out that has happened elsewhere."""
        (self.folder / name).unlink()

    def fail_if_due(self, point: str, message_ids: Iterable[str]) -> None:
        """Kill or freeze this process if a fault is due."""
        if self.take(point, message_ids):
            os.kill(os.getpid(), SIGNALS[point])

    def point_of(self, message_id: str) -> str:
        """Return the point at which this order will kill or freeze its worker, if any."""
        for point in SIGNALS:
            if self.is_due(point, message_id):
                return point
        return ""

    def begin(self) -> None:
        """Note when the first order was taken: the time counts from here."""
        file = self.folder / BEGAN
        if not file.exists():
            file.write_text(str(time.time()))

    def began(self) -> float:
        """Return when the first order was taken."""
        return float((self.folder / BEGAN).read_text())

    def left(self) -> list[str]:
        """Return the names of the faults that have not happened."""
        return sorted(file.name for file in self.folder.iterdir() if file.name != BEGAN)


def write_plan(folder: Path, names: Iterable[str]) -> FaultPlan:
    """Make a fresh folder with a file for each fault."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return FaultPlan(folder)
