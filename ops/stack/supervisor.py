"""Start and stop processes so that none of them is ever forgotten, whenever we are interrupted."""

import os
import re
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from ops.jars import Command
from ops.settings import Env
from ops.stack.interrupts import hear_interrupts, undisturbed
from ops.stack.state import Identity, State, read_state, write_state

POLL_SECONDS = 0.05
KILL_SECONDS = 5  # what SIGKILL needs; more means the kernel is stuck
LOG_LIMIT = 16 * 1024 * 1024  # a log that has grown beyond this is put aside at the next start
STARTED = "=== started "
PROGRESS = re.compile(r" *[0-9.]+ s  (.+)")  # how the Spark jobs print it

OnLine = Callable[[str], object]


class StackError(Exception):
    """Why the stack cannot do what was asked, and the way out."""


def leave_no_core_dumps() -> None:
    """Let a process that crashes, and those that it starts, write no memory to a file.

    Passwords would be in it.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


class Supervisor:
    """Processes by name: each with its own group and log, and in the state file while alive."""

    def __init__(self, run_dir: Path, directory: Path) -> None:
        self.file = run_dir / "processes.json"
        self.logs = run_dir / "log"
        self.directory = directory
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        hear_interrupts()
        leave_no_core_dumps()

    def spawn(
        self,
        name: str,
        argv: Command,
        env: Env,
        *,
        piped: bool = False,
    ) -> None:
        """Start it and write it down, as one step that no signal interrupts."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.open_log(name, argv) as log, undisturbed():
            output = subprocess.PIPE if piped else log
            child = subprocess.Popen(
                argv,
                cwd=self.directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            self.children[name] = child
            self.record(name, Identity.of(child.pid))

    def run(
        self,
        name: str,
        argv: Command,
        env: Env,
        timeout: float = 600,
    ) -> None:
        """Run it to its end, which must be a good one."""
        try:
            self.spawn(name, argv, env)
            code = self.children[name].wait(timeout)
        except subprocess.TimeoutExpired:
            log = self.tail(name)
            raise StackError(f"{name} took longer than {timeout:g} s{log}") from None
        finally:
            self.stop(name)
        if code:
            log = self.tail(name)
            raise StackError(f"{name} ended with code {code}{log}")

    def pass_through(
        self,
        name: str,
        argv: Command,
        env: Env,
        on_line: OnLine,
        on_progress: OnLine,
    ) -> int:
        """Run it to its end, pass on its output and its progress, and return 0 or 1, its answer."""
        try:
            self.spawn(name, argv, env, piped=True)
            child = self.children[name]
            arguments = (name, child.stderr, on_progress)
            errors = threading.Thread(target=self.keep_errors, args=arguments, daemon=True)
            errors.start()
            has_answered = self.pass_on(child.stdout, on_line)
            errors.join()
            code = child.wait()
        finally:
            self.stop(name)
        # Without an answer, 1 is Python's own code for a crash.
        crashed = code == 1 and not has_answered
        if crashed or code not in (0, 1):
            job = job_of(name)
            log = self.tail(name)
            raise StackError(f"{job} ended with code {code}{log}")
        return code

    def pass_on(self, stdout: IO[bytes] | None, on_line: OnLine) -> bool:
        """Hand on every line of the output; say whether there was one."""
        assert stdout is not None
        has_answered = False
        with stdout:
            for line in stdout:
                has_answered = True
                text = line.decode(errors="replace")
                on_line(text.rstrip("\n"))
        return has_answered

    def keep_errors(self, name: str, stderr: IO[bytes], on_progress: OnLine) -> None:
        """Write standard error into the log, and hand on the lines that say how far it is."""
        file = self.log(name)
        with stderr, file.open("ab", buffering=0) as log:
            for line in stderr:
                log.write(line)
                text = line.decode(errors="replace")
                progress = PROGRESS.fullmatch(text.rstrip())
                if progress:
                    on_progress(progress[1])

    def state(self) -> State:
        """Return what the state file says."""
        return read_state(self.file)

    def identity(self, name: str) -> Identity | None:
        """Return the process that was last started under this name and not stopped since."""
        return self.state().processes.get(name)

    def alive(self, name: str) -> bool:
        """Say whether that process still runs."""
        identity = self.identity(name)
        return identity is not None and identity.alive()

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the whole group; after SIGKILL, wait until nothing of it is left."""
        identity = self.identity(name)
        if identity is None:
            return
        if identity.group():
            os.killpg(identity.pid, number)
        if number == signal.SIGKILL:
            until_gone(identity, KILL_SECONDS)
            self.reap(name)

    def stop(
        self,
        name: str,
        number: signal.Signals = signal.SIGTERM,
        grace: float = 10,
    ) -> None:
        """Ask the process to end, and kill what is left of its group after the grace."""
        identity = self.identity(name)
        if identity is None:
            return
        with undisturbed():
            with suppress(ProcessLookupError):
                if identity.alive():
                    os.kill(identity.pid, number)
                else:
                    os.killpg(identity.pid, number)
                if not until_gone(identity, grace):
                    os.killpg(identity.pid, signal.SIGKILL)
            until_gone(identity, KILL_SECONDS)
            self.reap(name)
            self.record(name, None)

    def record(self, name: str, identity: Identity | None) -> None:
        """Write into the state file which process has this name now, or that none has."""
        state = self.state()
        state.processes.pop(name, None)
        if identity:
            state.processes[name] = identity
        write_state(self.file, state)

    def reap(self, name: str) -> None:
        """Wait for a child that has ended."""
        child = self.children.pop(name, None)
        if child:
            child.wait()

    def log(self, name: str) -> Path:
        """Return where its output goes; names with an @ may run several at once, on one log."""
        job = job_of(name)
        return self.logs / f"{job}.log"

    def open_log(self, name: str, argv: Command) -> IO[bytes]:
        """Open the log of this name, and write a line that says what is started now."""
        file = self.log(name)
        size = file.stat().st_size if file.exists() else 0
        if size > LOG_LIMIT:
            old = file.with_suffix(".log.old")
            file.replace(old)
        file.touch(mode=0o600)  # what a part says of itself is its owner's business
        log = file.open("ab", buffering=0)
        now = datetime.now().astimezone()
        program = Path(argv[0]).name
        heading = f"{STARTED}{now:%Y-%m-%d %H:%M:%S} {program}\n"
        log.write(heading.encode())
        return log

    def tail(self, name: str, lines: int = 15) -> str:
        """Return the end of its log since its last start, worded to follow a sentence."""
        file = self.log(name)
        text = file.read_text(errors="replace")
        _, _, since_start = text.rpartition(STARTED)
        output = since_start.splitlines()[1:]  # the first line says what was started
        if not output:
            return f"; {file} is empty"
        end = "\n  ".join(output[-lines:])
        return f"; {file} ends with:\n  {end}"


def job_of(name: str) -> str:
    """Return a name without what is behind its @, which tells runs of one job apart."""
    job, _, _ = name.partition("@")
    return job


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition, and say whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def until_gone(identity: Identity, seconds: float) -> bool:
    """Wait until nothing of a process's group runs, and say whether that came true in time."""
    return until(lambda: not identity.group(), seconds)
