"""The whole stack: up in sequence, each part when the one before is ready; down in reverse."""

import fcntl
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from signal import Signals

from dotenv import dotenv_values

from ops.jars import Command, fetch_jars, jars_folder
from ops.security import OPS, PRINCIPALS
from ops.settings import ROOT, Env, Settings
from ops.stack.checks import check, check_settings
from ops.stack.files import make_secrets
from ops.stack.interrupts import undisturbed
from ops.stack.part import Part, part_by_name, parts, poms
from ops.stack.secured import make_files
from ops.stack.state import Identity, write_state
from ops.stack.supervisor import OnLine, StackError, Supervisor, until
from spark.archive import archive_of

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
        self.run_dir = self.settings.run_dir
        self.supervisor = Supervisor(self.run_dir, ROOT)
        runs_elsewhere = self.settings.attach
        started = [] if runs_elsewhere else parts(self.settings)
        self.parts = {part.name: part for part in started}
        self.me = Identity.of(os.getpid())

    def env(self) -> dict[str, str]:
        """Return the environment of a process: .env, the shell's, then the stack's own names."""
        lines = dotenv_values(ROOT / ".env").items()
        from_file = {name: value for name, value in lines if value is not None}
        own = self.settings.environment()
        return {**from_file, **os.environ, **own}

    def up(self, *, stay: bool = False) -> list[str]:
        """Start what is missing and return its names; interrupted or failing, leave none of it.

        With `stay` the stack outlives this process; without, it counts as left over once this
        process has ended.
        """
        self.claim()
        parts = self.parts.values()
        missing = [part for part in parts if not self.supervisor.alive(part.name)]
        names = [part.name for part in missing]
        try:
            if missing:
                self.prepare(missing)
            for part in missing:
                self.start_with_one_shots(part)
            if stay:
                self.own(None)
        except BaseException:
            with undisturbed():
                self.stop_all(names)
            raise
        return names

    def start_with_one_shots(self, part: Part) -> None:
        """Start a part, then run what has to run once it is ready."""
        with self.step(f"start {part.name}"):
            self.start(part.name)
            for name, command in part.then.items():
                self.run(name, command, part.then_env)
            part.done()

    def down(self) -> None:
        """Stop everything, the last started first."""
        self.refuse_if_used()
        with undisturbed():
            state = self.supervisor.state()
            self.stop_all(list(state.processes))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have a stack for a block: the one that is up already, or one that is gone after it."""
        try:
            self.up()
            yield
        finally:
            state = self.supervisor.state()
            if state.owner == self.me:
                self.down()

    def start(
        self,
        name: str,
        argv: Command | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        """Start one part, by another command if need be, and wait until it is ready.

        What is left of an earlier one, or that one itself, is stopped: there is never a second.
        """
        part = self.part(name)
        self.stop(name)
        part.prepare(self.run)
        command = argv or part.argv
        environment = self.env() | part.env
        if env:
            environment |= env
        self.supervisor.spawn(name, command, environment)
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait until it is ready; report what died or takes too long with the end of its log."""
        missing = "nothing"

        def settled() -> bool:
            nonlocal missing
            alive = self.supervisor.alive(name)
            if not alive:
                missing = "it has ended"
                return True
            missing = self.part(name).ready()
            return not missing

        timeout = self.settings.start_timeout_seconds
        in_time = until(settled, timeout)
        if not missing:
            return
        log = self.supervisor.tail(name)
        late = "" if in_time else f" within {timeout:g} s"
        raise StackError(f"{name} did not become ready{late}: {missing}{log}")

    def stop(self, name: str, number: Signals | None = None) -> None:
        """Stop one process, by another signal than its usual one if need be."""
        part = self.parts.get(name)
        usual = part.stop_signal if part else Signals.SIGTERM
        chosen = number or usual
        self.supervisor.stop(name, chosen, GRACE_SECONDS)

    def kill(self, name: str, number: Signals = Signals.SIGKILL) -> None:
        """Do what a crash does; or send SIGSTOP or SIGCONT."""
        self.supervisor.send(name, number)

    def restart(self, name: str) -> None:
        """Stop and start."""
        self.stop(name)
        self.start(name)

    def ready(self, name: str) -> str:
        """Return nothing when the part is ready, else why it is not."""
        if not self.supervisor.alive(name):
            return "not running"
        part = self.part(name)
        return part.ready()

    def log(self, name: str) -> Path:
        """Return where the output of a part goes."""
        return self.supervisor.log(name)

    def run(self, name: str, argv: Command, env: Env | None = None) -> None:
        """Run one command to its end, in the stack's environment and with what is given on top."""
        self.supervisor.run(name, argv, {**self.env(), **(env or {})})

    def pass_through(
        self,
        module: Command,
        on_line: OnLine,
        on_progress: OnLine,
    ) -> int:
        """Run one of the project's own jobs, pass on output and progress, return its exit code."""
        job = module[0]
        security = self.settings.security
        principal = PRINCIPALS.get(job, OPS)
        who = security.log_in_as(principal) if security else {}
        return self.supervisor.pass_through(
            name=f"{job}@{os.getpid()}",  # several may run at once
            argv=[sys.executable, "-m", *module],
            env=self.env() | who,
            on_line=on_line,
            on_progress=on_progress,
        )

    def part(self, name: str) -> Part:
        """Return a part by its name, even one that this stack does not start by itself."""
        if name in self.parts:
            return self.parts[name]
        return part_by_name(self.settings, name)

    def prepare(self, missing: list[Part]) -> None:
        """Check whether it can work at all, then make what every part needs."""
        check(self.settings, missing)
        make_secrets(self.settings)
        if self.settings.security:
            make_files(self.settings.security)
        cache = self.settings.jars
        for pom, profiles in poms(self.settings).items():
            folder = jars_folder(cache, pom)
            if folder.exists():
                continue
            shown = pom.relative_to(ROOT)
            with self.step(f"fetch the jars of {shown}, this once"):
                fetch_jars(self.run, cache, pom, profiles)
        self.write_environment()
        self.archive_classes()

    def archive_classes(self) -> None:
        """Make what lets Spark's sessions start faster; without it they are only slower."""
        jars = jars_folder(self.settings.jars, ROOT / "spark" / "pom.xml")
        if archive_of(jars).exists():
            return
        with self.step("archive Spark's classes, this once"), suppress(StackError):
            self.run("spark.make_archive", [sys.executable, "-m", "spark.make_archive"])

    def write_environment(self) -> None:
        """Write the names of every part as a file for the shell."""
        exports = []
        for name, value in self.settings.environment().items():
            quoted = shlex.quote(value)
            exports.append(f"export {name}={quoted}\n")
        file = self.run_dir / "env"
        file.write_text("".join(exports))

    def claim(self) -> None:
        """Make the stack ours if nothing of it runs; stop what a killed run left over first."""
        check_settings(self.settings)
        lock_file = self.run_dir / "lock"
        with lock_file.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refuse_if_used()
            state = self.supervisor.state()
            if state.owner not in (None, self.me):
                with self.step("stop what a killed run left over"):
                    self.stop_all(list(state.processes))
            left = self.supervisor.state()
            processes = left.processes.values()
            running = [identity for identity in processes if identity.alive()]
            if not running:
                self.own(self.me)

    def own(self, owner: Identity | None) -> None:
        """Write down which process will stop the stack."""
        state = self.supervisor.state()
        if state.owner != owner:
            changed = state.model_copy(update={"owner": owner})
            write_state(self.supervisor.file, changed)

    def refuse_if_used(self) -> None:
        """Refuse a stack that another command has started for itself."""
        state = self.supervisor.state()
        owner = state.owner
        if owner is None or owner == self.me:
            return
        if not owner.alive():
            return
        raise StackError(
            f"the stack in {self.run_dir} belongs to a command that still runs "
            f"(pid {owner.pid}): wait for it, or press Ctrl-C there"
        )

    def stop_all(self, names: list[str]) -> None:
        """Stop one-shots first, then what was started last; after that, nothing is owned."""
        one_shots = [name for name in names if name not in self.parts]
        started = [name for name in self.parts if name in names]
        for name in [*one_shots, *reversed(started)]:
            if self.supervisor.identity(name):
                with self.step(f"stop {name}"):
                    self.ask_group_to_stop(name)
                    self.stop(name)
        state = self.supervisor.state()
        if not state.processes:
            self.own(None)

    def ask_group_to_stop(self, name: str) -> None:
        """Ask every part of a group at once: the last broker alone would wait for a quorum."""
        group = self.parts[name].group if name in self.parts else ""
        if group:
            for part in self.parts.values():
                if part.group == group:
                    self.supervisor.send(part.name, part.stop_signal)

    def remove_data(self) -> None:
        """Remove everything but the jars and the logs, of a stack that is down."""
        for name in ("data", "delta", "ledger", "secrets", "tls"):
            folder = self.run_dir / name
            shutil.rmtree(folder, ignore_errors=True)
