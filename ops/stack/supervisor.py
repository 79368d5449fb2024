"""Starts and stops processes so that none of them is ever forgotten, whenever this one is interrupted."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from ops.stack.interrupts import hear_interrupts, undisturbed
from ops.stack.state import Identity, State, read_state, write_state

POLL_SECONDS = 0.05
KILL_SECONDS = 5  # what SIGKILL needs; more means the kernel is stuck
LOG_LIMIT = 16 * 1024 * 1024  # a log that has grown beyond this is put aside at the next start
STARTED = "=== started "
PROGRESS = re.compile(r" *[0-9.]+ s  (.+)")  # how the Spark jobs tell it

Say = Callable[[str], object]


class StackError(Exception):
    """Why the stack cannot do what was asked, and the way out."""


class Supervisor:
    """Processes by name: each in its own group, with its own log, and in the state file while it lives."""

    def __init__(self, run_dir: Path, directory: Path) -> None:
        self.file = run_dir / "processes.json"
        self.logs = run_dir / "log"
        self.directory = directory
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        hear_interrupts()

    def spawn(
        self, name: str, argv: list[str], env: Mapping[str, str], *, piped: bool = False
    ) -> None:
        """Start it and write it down, as one step that a signal cannot part."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.open_log(name, argv) as log, undisturbed():
            child = subprocess.Popen(
                argv,
                cwd=self.directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log,
                stderr=subprocess.PIPE if piped else log,
                start_new_session=True,
            )
            self.children[name] = child
            self.record(name, Identity.of(child.pid))

    def run(self, name: str, argv: list[str], env: Mapping[str, str], timeout: float = 600) -> None:
        """Run it to its end, which must be a good one."""
        try:
            self.spawn(name, argv, env)
            code = self.children[name].wait(timeout)
        except subprocess.TimeoutExpired:
            raise StackError(f"{name} took longer than {timeout:g} s{self.tail(name)}") from None
        finally:
            self.stop(name)
        if code:
            raise StackError(f"{name} ended with code {code}{self.tail(name)}")

    def pass_through(
        self, name: str, argv: list[str], env: Mapping[str, str], say: Say, told: Say
    ) -> int:
        """Run it to its end and hand on what it prints, and how far it is; 0 and 1 are answers."""
        said = b""
        try:
            self.spawn(name, argv, env, piped=True)
            child = self.children[name]
            assert child.stdout is not None
            beside = threading.Thread(
                target=self.keep, args=(name, child.stderr, told), daemon=True
            )
            beside.start()
            with child.stdout:
                for said in child.stdout:
                    say(said.decode(errors="replace").rstrip("\n"))
            beside.join()
            code = child.wait()
        finally:
            self.stop(name)
        if code not in (0, 1) or (
            code and not said
        ):  # without an answer, 1 is Python's own word for a crash
            raise StackError(f"{name.partition('@')[0]} ended with code {code}{self.tail(name)}")
        return code

    def keep(self, name: str, stderr: IO[bytes], told: Say) -> None:
        """Write what a process says beside its output into its log, and hand on how far it is."""
        with stderr, self.log(name).open("ab", buffering=0) as log:
            for line in stderr:
                log.write(line)
                if how_far := PROGRESS.fullmatch(line.decode(errors="replace").rstrip()):
                    told(how_far[1])

    def state(self) -> State:
        """What the state file says."""
        return read_state(self.file)

    def identity(self, name: str) -> Identity | None:
        """Which process was last started under this name and not stopped since."""
        return self.state().processes.get(name)

    def alive(self, name: str) -> bool:
        """Whether that process still runs."""
        identity = self.identity(name)
        return identity is not None and identity.alive()

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the whole group; after SIGKILL, wait until nothing of it is left."""
        identity = self.identity(name)
        if identity and identity.group():
            os.killpg(identity.pid, number)
        if identity and number == signal.SIGKILL:
            until(lambda: not identity.group(), KILL_SECONDS)
            self.reap(name)

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM, grace: float = 10) -> None:
        """Ask the process to end, and kill what is left of its group after the grace."""
        identity = self.identity(name)
        if identity is None:
            return
        with undisturbed():
            with suppress(ProcessLookupError):
                (os.kill if identity.alive() else os.killpg)(identity.pid, number)
                if not until(lambda: not identity.group(), grace):
                    os.killpg(identity.pid, signal.SIGKILL)
            until(lambda: not identity.group(), KILL_SECONDS)
            self.reap(name)
            self.record(name, None)

    def record(self, name: str, identity: Identity | None) -> None:
        """Keep the state file true."""
        state = self.state()
        state.processes.pop(name, None)
        if identity:
            state.processes[name] = identity
        write_state(self.file, state)

    def reap(self, name: str) -> None:
        """Take leave of a child that has ended."""
        child = self.children.pop(name, None)
        if child:
            child.wait()

    def log(self, name: str) -> Path:
        """Where its output goes; what may run several times at once has an @ in its name, and one log."""
        return self.logs / f"{name.partition('@')[0]}.log"

    def open_log(self, name: str, argv: list[str]) -> IO[bytes]:
        """The log of this name, with a line that says what is started now."""
        file = self.log(name)
        if file.exists() and file.stat().st_size > LOG_LIMIT:
            file.replace(file.with_suffix(".log.old"))
        log = file.open("ab", buffering=0)
        log.write(
            f"{STARTED}{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {Path(argv[0]).name}\n".encode()
        )
        return log

    def tail(self, name: str, lines: int = 15) -> str:
        """The end of its log since its last start, made to follow a sentence."""
        text = self.log(name).read_text(errors="replace").rpartition(STARTED)[2].splitlines()[1:]
        said = "".join(f"\n  {line}" for line in text[-lines:])
        return f"; {self.log(name)} ends with:{said}" if said else f"; {self.log(name)} is empty"


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition, and say whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
