"""Somebody is always in work: who was killed is replaced, and beside who is frozen another one begins."""

import sys
from collections.abc import Mapping
from signal import SIGCONT, SIGKILL

import psutil

from lab.ladder.steps import OUTBOX, WHOLE
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

TIMEOUT = {"SESSION_TIMEOUT_MS": "6000"}  # the broker's least: a killed worker is missed sooner


class Crew:
    """The workers of one cell, by slot."""

    def __init__(self, stack: Stack, step: int, env: Mapping[str, str]) -> None:
        self.stack, self.step, self.env = stack, step, env
        self.names: list[str] = []

    def tend(self) -> None:
        """Look after all of them once."""
        for slot, name in enumerate(self.names, 1):
            if not self.stack.supervisor.alive(name):
                self.replace(slot, name)
        if all(self.is_frozen(name) for name in self.names):
            self.names.append(f"worker-{len(self.names) + 1}")
            self.spawn(len(self.names), self.names[-1])

    def replace(self, slot: int, name: str) -> None:
        """Another one in the place of one that was killed; whoever ends otherwise has a defect."""
        code = self.stack.supervisor.children[name].wait()
        if code != -SIGKILL:
            raise StackError(f"{name} ended with code {code}{self.stack.supervisor.tail(name)}")
        self.stack.stop(name)
        self.spawn(slot, name)

    def spawn(self, slot: int, name: str) -> None:
        """The plain service, or the template's; up to WHOLE it also goes order by order, so that steps compare."""
        if self.step < OUTBOX:
            argv, own = ["lab.ladder.plain", str(self.step), name], dict[str, str]()
        else:
            argv, own = ["lab.ladder.struck"], self.stack.part(f"service-{slot}").env | TIMEOUT
            own |= {} if self.step == WHOLE else {"BATCH_RECORDS": "1"}
        self.stack.supervisor.spawn(name, [sys.executable, "-m", *argv], {**self.env, **own})

    def is_frozen(self, name: str) -> bool:
        """Whether it stands still in the middle of its work."""
        identity = self.stack.supervisor.identity(name)
        return (
            identity is not None and psutil.Process(identity.pid).status() == psutil.STATUS_STOPPED
        )

    def dismiss(self) -> None:
        """Let the frozen ones go on, and everybody finish what is in hand."""
        for name in self.names:
            self.stack.kill(name, SIGCONT)
        for name in self.names:
            self.stack.stop(name)
