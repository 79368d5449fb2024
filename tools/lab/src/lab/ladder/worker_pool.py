"""Keeps at least one worker running: it replaces a killed one, and adds one beside frozen ones."""

import sys
from collections.abc import Mapping
from signal import SIGCONT, SIGKILL

import psutil

from lab.environment import free_ports
from lab.ladder.steps import OUTBOX, WHOLE
from ops.settings import HOST
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

SESSION_TIMEOUT_MS = "6000"  # the broker's least: a killed worker is missed sooner


class WorkerPool:
    """The workers of one cell; their place in `names` does not change."""

    def __init__(self, stack: Stack, step: int, env: Mapping[str, str]) -> None:
        self.stack = stack
        self.step = step
        self.env = env
        self.names: list[str] = []

    def supervise(self) -> None:
        """Look after all workers once."""
        for name in self.names:
            if not self.stack.supervisor.alive(name):
                self.replace(name)
        if all(self.is_frozen(name) for name in self.names):
            name = f"worker-{len(self.names) + 1}"
            self.names.append(name)
            self.spawn(name)

    def replace(self, name: str) -> None:
        """Start a killed worker again; one that ended in another way has a defect."""
        code = self.stack.supervisor.children[name].wait()
        if code != -SIGKILL:
            raise StackError(f"{name} ended with code {code}{self.stack.supervisor.tail(name)}")
        self.stack.stop(name)
        self.spawn(name)

    def spawn(self, name: str) -> None:
        """Start the plain service on the lower steps, else the template's own."""
        if self.step < OUTBOX:
            module = ["lab.ladder.plain_service", str(self.step), name]
            own = {}
        else:
            module = ["lab.ladder.faulty_service"]
            own = self.service_env()
        command = [sys.executable, "-m", *module]
        self.stack.supervisor.spawn(name, command, {**self.env, **own})

    def service_env(self) -> dict[str, str]:
        """Return the settings of one service process.

        Below the last step it takes order by order, so that its speed compares with the plain one.
        """
        [port] = free_ports(1)
        env = {
            "SERVICE_HOST": HOST,
            "SERVICE_PORT": str(port),
            "SESSION_TIMEOUT_MS": SESSION_TIMEOUT_MS,
        }
        if self.step < WHOLE:
            env["BATCH_RECORDS"] = "1"
        return env

    def is_frozen(self, name: str) -> bool:
        """Return whether this worker was stopped in the middle of its work."""
        identity = self.stack.supervisor.identity(name)
        if identity is None:
            return False
        return psutil.Process(identity.pid).status() == psutil.STATUS_STOPPED

    def shutdown(self) -> None:
        """Wake the frozen workers, and let all of them finish the order that they have."""
        for name in self.names:
            self.stack.kill(name, SIGCONT)
        for name in self.names:
            self.stack.stop(name)
