"""/livez, /readyz and /metrics, on a port and in a thread of their own."""

from collections.abc import Callable
from typing import NamedTuple

import service.health
from service.logs import exit_with_error


class Address(NamedTuple):
    """Where the pages are."""

    setting: str  # of the port
    host: str
    port: int


class Health(NamedTuple):
    """Two questions, each answered with a reason or with nothing."""

    reason_to_restart: Callable[[], str]
    reason_not_ready: Callable[[], str]

    def answer(self, path: str) -> tuple[int, str]:
        """Return the status and the text for a path."""
        if path == "/livez":
            reason = self.reason_to_restart()
        elif path == "/readyz":
            reason = self.reason_not_ready()
        else:
            return 404, "only /livez, /readyz and /metrics are here\n"
        return (503, f"{reason}\n") if reason else (200, "ok\n")


def serve(address: Address, health: Health) -> None:
    """Answer until the process ends, or end it now if the port is taken."""
    try:
        service.health.serve(address.host, address.port, health.answer)
    except OSError as error:
        exit_with_error(f"{address.setting}={address.port}: {error.strerror}: choose another port")
