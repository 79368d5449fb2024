"""Hands out the orders to the application of a peer, one on a line."""

import socket
from types import TracebackType
from typing import Self

from contract.samples import Sample
from lab.peers.intake import HOST
from ops.stack.supervisor import StackError, Supervisor, until

SECONDS = 30  # an application that has not connected by then does not start


class Feed:
    """Waits for one application, and gives it every order that is sent."""

    def __init__(self) -> None:
        self.server = socket.create_server((HOST, 0))
        self.server.setblocking(False)
        self.port: int = self.server.getsockname()[1]
        self.application: socket.socket | None = None

    def accept(self, supervisor: Supervisor, name: str) -> None:
        """Wait until the application has connected; report why it does not."""

        def has_settled() -> bool:
            return self.has_come() or not supervisor.alive(name)

        until(has_settled, SECONDS)
        if self.application is None:
            raise StackError(f"{name} does not take orders{supervisor.tail(name)}")

    def has_come(self) -> bool:
        """Say whether the application is there."""
        try:
            self.application, _ = self.server.accept()
        except BlockingIOError:
            return False
        self.application.setblocking(True)
        return True

    def send(self, order: Sample) -> None:
        """Give the application one order."""
        assert self.application is not None
        assert order.value is not None
        self.application.sendall(order.value + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.close()
        if self.application:
            self.application.close()
