"""Named points in a process, and what is to happen to it at one of them: a file that is taken once.

A process that comes to a point looks whether there is a file of that name. It takes the file away
and is killed or frozen, with everything that it has started.
"""

import json
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import Any

STRUCK = "struck"  # the process that was hit


class Points:
    """The points of every process that was given this folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plan(self, point: str, number: Signals, skip: int = 0, delay: float = 0) -> None:
        """Have the first process be hit that comes to this point, after `skip` others.

        With a delay the process goes on meanwhile: it is hit within the step that follows.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        order = {"signal": int(number), "skip": skip, "delay": delay}
        unfinished = self.folder / "unfinished"
        unfinished.write_text(json.dumps(order))
        unfinished.rename(self.folder / point)

    def struck(self) -> int | None:
        """Return the process that was hit, if one was."""
        file = self.folder / STRUCK
        return int(file.read_text()) if file.exists() else None

    def forget(self) -> None:
        """Take a plan back that nobody has come to."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def pass_by(self, point: str) -> None:
        """Be hit here if that is planned."""
        file = self.folder / point
        taken = file.with_name(f"{point}.{os.getpid()}")
        try:
            file.rename(taken)  # two processes may come at once: only one gets it
        except FileNotFoundError:
            return
        order = json.loads(taken.read_text())
        if order["skip"]:
            order["skip"] -= 1
            taken.write_text(json.dumps(order))
            with suppress(OSError):
                taken.rename(file)
            return
        (self.folder / "striking").write_text(str(os.getpid()))
        (self.folder / "striking").rename(self.folder / STRUCK)
        if order["delay"]:
            threading.Timer(order["delay"], os.killpg, (0, order["signal"])).start()
        else:
            os.killpg(0, order["signal"])

    def around(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return the step with a point before it, one that is within it, and one after it."""

        def pass_through(*given: Any, **named: Any) -> Any:
            self.pass_by(f"before-{name}")
            self.pass_by(f"during-{name}")
            found = step(*given, **named)
            self.pass_by(f"after-{name}")
            return found

        return pass_through
