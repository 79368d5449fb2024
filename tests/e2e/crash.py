"""python -m tests.e2e.crash STEP: the service, killed (-9) at the moment that it would begin this step."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import OrderConsumer
from service.handler import Steps
from service.settings import Settings


def killed_before(step: str) -> Callable[[Settings, Engine, OrderConsumer], Steps]:
    """The real wiring, with a kill in the place of one step."""

    def kill(*_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    change: dict[str, Any] = {step: kill}
    return lambda settings, engine, consumer: wire(settings, engine, consumer)._replace(**change)


if __name__ == "__main__":
    main(killed_before(sys.argv[1]))
