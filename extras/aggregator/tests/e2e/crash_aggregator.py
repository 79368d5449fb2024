"""Run the aggregator and kill it (-9) in place of one STEP, which is the argument."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

from extras.aggregator.__main__ import main, wire
from extras.aggregator.handler import Steps
from extras.aggregator.settings import Settings
from service.consumer import RecordConsumer


def killed_before(step: str) -> Callable[[Settings, Engine, RecordConsumer], Steps]:
    """The real wiring, with a kill in the place of one step."""

    def kill(*_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    change: dict[str, Any] = {step: kill}
    return lambda settings, engine, consumer: wire(settings, engine, consumer)._replace(**change)


if __name__ == "__main__":
    main(killed_before(sys.argv[1]))
