"""The whole stack: up in sequence, each part when the one before is ready; down in reverse."""

import fcntl
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from signal import Signals

from dotenv import dotenv_values

from ops.jars import fetch_jars, jars_folder
from ops.settings import ROOT, Settings
from ops.stack.checks import check, check_settings
from ops.stack.files import make_secrets
from ops.stack.interrupts import undisturbed
from ops.stack.part import Part, part_by_name, parts, poms
from ops.stack.state import Identity, write_state
from ops.stack.supervisor import OnLine, StackError, Supervisor, until

# Shows what is being done while it is being done.
Step = Callable[[str], AbstractContextManager[object]]

GRACE_SECONDS = 20  # then SIGKILL; Kafka and Connect take 1 to 3 s, a service at most 10


def silently(_text: str) -> AbstractContextManager[object]:
    """Show nothing."""
    return nullcontext()


class Stack:
    """The parts by name, for the command line and for tests alike."""

    def __init__(self, settings: Settings | None = None, step: Step = silently) -> None:
        self.settings = settings or Settings()
        self.step = step
        self.supervisor = Supervisor(self.settings.run_dir, ROOT)
        started = [] if self.settings.attach else parts(self.settings)
        self.parts = {part.name: part for part in started}
        self.me = Identity.of(os.getpid())

    def env(self) -> dict[str, str]:
        """Return the environment of a process: .env, the shell's, then the stack's own names."""
        from_file = dotenv_values(ROOT / ".env").items()
        named = {name: value for name, value in from_file if value is not None}
        return named | dict(os.environ) | self.settings.environment()

    def up(self, *, stay: bool = False) -> list[str]:
        """Start what is missing and return its names; interrupted or failing, leave none of it.

        With `stay` the stack outlives this process; without, it counts as left over once this
        process has ended.
        """
        self.claim()
        missing = [part for name, part in self.parts.items() if not self.supervisor.alive(name)]
        try:
            if missing:
                self.prepare(missing)
            for part in missing:
                with self.step(f"start {part.name}"):
                    self.start(part.name)
                    for name, command in part.then.items():
                        self.run(name, command)
                    part.done()
            if stay:
                self.own(None)
        except BaseException:
            with undisturbed():
                self.stop_all([part.name for part in missing])
            raise
        return [part.name for part in missing]

    def down(self) -> None:
        """Stop everything, the last started first."""
        self.refuse_if_used()
        with undisturbed():
            self.stop_all(list(self.supervisor.state().processes))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have a stack for a block: the one that is up already, or one that is gone after it."""
        try:
            self.up()
            yield
        finally:
            if self.supervisor.state().owner == self.me:
                self.down()

    def start(
        self, name: str, argv: list[str] | None = None, env: dict[str, str] | None = None
    ) -> None:
        """Start one part, by another command if need be, and wait until it is ready.

        What is left of an earlier one, or that one itself, is stopped: there is never a second.
        """
        part = self.part(name)
        self.stop(name)
        part.prepare(self.run)
        environment = self.env() | part.env | (env or {})
        self.supervisor.spawn(name, argv or part.argv, environment)
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait until it is ready; report what died or takes too long with the end of its log."""
        missing = "nothing"

        def settled() -> bool:
            nonlocal missing
            alive = self.supervisor.alive(name)
            missing = self.part(name).ready() if alive else "it has ended"
            return not alive or not missing

        timeout = self.settings.start_timeout_seconds
        in_time = until(settled, timeout)
        if missing:
            late = "" if in_time else f" within {timeout:g} s"
            log = self.supervisor.tail(name)
            raise StackError(f"{name} did not become ready{late}: {missing}{log}")

    def stop(self, name: str, number: Signals | None = None) -> None:
        """Stop one process, by another signal than its usual one if need be."""
        part = self.parts.get(name)
        usual = part.stop_signal if part else Signals.SIGTERM
        self.supervisor.stop(name, number or usual, GRACE_SECONDS)

    def kill(self, name: str, number: Signals = Signals.SIGKILL) -> None:
        """Do what a crash does; or send SIGSTOP or SIGCONT."""
        self.supervisor.send(name, number)

    def restart(self, name: str) -> None:
        """Stop and start."""
        self.stop(name)
        self.start(name)

    def ready(self, name: str) -> str:
        """Return nothing when the part is ready, else why it is not."""
        return self.part(name).ready() if self.supervisor.alive(name) else "not running"

    def log(self, name: str) -> Path:
        """Return where the output of a part goes."""
        return self.supervisor.log(name)

    def run(self, name: str, argv: list[str]) -> None:
        """Run one command to its end, in the stack's environment."""
        self.supervisor.run(name, argv, self.env())

    def pass_through(self, module: list[str], on_line: OnLine, on_progress: OnLine) -> int:
        """Run one of the project's own jobs, pass on output and progress, return its exit code."""
        name = f"{module[0]}@{os.getpid()}"  # several may run at once
        return self.supervisor.pass_through(
            name, [sys.executable, "-m", *module], self.env(), on_line, on_progress
        )

    def part(self, name: str) -> Part:
        """Return a part by its name, even one that this stack does not start by itself."""
        return self.parts.get(name) or part_by_name(self.settings, name)

    def prepare(self, missing: list[Part]) -> None:
        """Check whether it can work at all, then make what every part needs."""
        check(self.settings, missing)
        make_secrets(self.settings)
        for pom, profiles in poms(self.settings).items():
            if not jars_folder(self.settings.jars, pom).exists():
                with self.step(f"fetch the jars of {pom.relative_to(ROOT)}, this once"):
                    fetch_jars(self.run, self.settings.jars, pom, profiles)
        exports = []
        for name, value in self.settings.environment().items():
            exports.append(f"export {name}={shlex.quote(value)}\n")
        (self.settings.run_dir / "env").write_text("".join(exports))

    def claim(self) -> None:
        """Make the stack ours if nothing of it runs; stop what a killed run left over first."""
        check_settings(self.settings)
        with (self.settings.run_dir / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refuse_if_used()
            state = self.supervisor.state()
            if state.owner not in (None, self.me):
                with self.step("stop what a killed run left over"):
                    self.stop_all(list(state.processes))
            processes = self.supervisor.state().processes.values()
            if not any(identity.alive() for identity in processes):
                self.own(self.me)

    def own(self, owner: Identity | None) -> None:
        """Write down which process will stop the stack."""
        state = self.supervisor.state()
        if state.owner != owner:
            write_state(self.supervisor.file, state.model_copy(update={"owner": owner}))

    def refuse_if_used(self) -> None:
        """Refuse a stack that another command has started for itself."""
        owner = self.supervisor.state().owner
        if owner and owner != self.me and owner.alive():
            raise StackError(
                f"the stack in {self.settings.run_dir} belongs to a command that still runs "
                f"(pid {owner.pid}): wait for it, or press Ctrl-C there"
            )

    def stop_all(self, names: list[str]) -> None:
        """Stop one-shots first, then what was started last; after that, nothing is owned."""
        rank = {name: number for number, name in enumerate(self.parts)}
        for name in sorted(names, key=lambda one: rank.get(one, len(rank)), reverse=True):
            if self.supervisor.identity(name):
                with self.step(f"stop {name}"):
                    self.stop(name)
        if not self.supervisor.state().processes:
            self.own(None)

    def remove_data(self) -> None:
        """Remove everything but the jars and the logs, of a stack that is down."""
        for name in ("data", "delta", "ledger", "secrets"):
            shutil.rmtree(self.settings.run_dir / name, ignore_errors=True)
