"""Strikes: files in a folder, named by point and order; who comes by takes the file away, and the fault happens."""

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from signal import SIGKILL, SIGSTOP

# freeze: the order is in hand, its work has not begun; gap: it is in the database and not published; late: the same,
# later; end: all its work is done. An answer is lost by whoever stands before the receiver, an ack by the proxy.
SIGNALS = {"freeze": SIGSTOP, "gap": SIGKILL, "late": SIGKILL, "end": SIGKILL}
BEGAN = "began"


class Strikes:
    """All that has yet to strike."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, point: str, message_ids: Iterable[str]) -> bool:
        """Whether it is due now; never a second time."""
        for file in (self.folder / f"{point}.{message_id}" for message_id in message_ids):
            if file.exists():
                file.unlink()
                return True
        return False

    def strike(self, point: str, message_ids: Iterable[str]) -> None:
        """Be killed or stopped here and now, if that is due."""
        if self.take(point, message_ids):
            os.kill(os.getpid(), SIGNALS[point])

    def awaits(self, message_id: str) -> str:
        """The point at which this order will strike its worker, if any."""
        return next(
            (point for point in SIGNALS if (self.folder / f"{point}.{message_id}").exists()), ""
        )

    def begin(self) -> None:
        """Note when the first order was in hand: from here on counts the time."""
        if not (file := self.folder / BEGAN).exists():
            file.write_text(str(time.time()))

    def left(self) -> list[str]:
        """What has not struck."""
        return sorted(file.name for file in self.folder.iterdir() if file.name != BEGAN)

    def began(self) -> float:
        """When the first order was in hand."""
        return float((self.folder / BEGAN).read_text())


def lay_out(folder: Path, names: Iterable[str]) -> Strikes:
    """A fresh folder with a file for each strike."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return Strikes(folder)
